#include "comm/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Place read(const Variables& variables) {
  return read_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string error_of(const Variables& variables) {
  return sheaf::testing::error_of([&] { static_cast<void>(read(variables)); });
}

TEST(Environment, IsOneRankWhereNothingIsSet) {
  const Place place = read({});
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
  EXPECT_EQ(place.starter, "");
}

TEST(Environment, ReadsTorchrun) {
  const Place place = read({{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "head"},
                            {"MASTER_PORT", "29500"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                            {"TORCHELASTIC_RESTART_COUNT", "3"}});
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.host, "head");
  EXPECT_EQ(place.port, 29500);
  EXPECT_TRUE(place.starter_serves);
  EXPECT_EQ(place.generation, "3");
}

TEST(Environment, KnowsWhoseStoreItIs) {
  Variables variables = {{"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_PORT", "29500"},
                         {"SHEAF_STORE_PORT", "29400"},
                         {"TORCHELASTIC_RUN_ID", "sheaf_127.0.0.1_29400"}};
  EXPECT_TRUE(read(variables).is_sheafs_store);
  EXPECT_TRUE(read(variables).starter_serves);
  EXPECT_EQ(read(variables).port, 29400);
  EXPECT_EQ(read(variables).silence, std::chrono::seconds(15));
  variables["SHEAF_STORE_SILENCE_MS"] = "2500";  // of --node-timeout 2.5s
  EXPECT_EQ(read(variables).silence, std::chrono::milliseconds(2500));
  variables["TORCHELASTIC_RUN_ID"] = "none";  // as torchrun has it
  EXPECT_FALSE(read(variables).is_sheafs_store);
  EXPECT_EQ(read(variables).port, 29500);
}

// Without a word of the starter ranks may be anywhere.
TEST(Environment, TakesOneHostForGrantedOnlyWhereTheStarterSaysSo) {
  Variables variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};
  EXPECT_FALSE(read(variables).one_host);
  variables["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_FALSE(read(variables).one_host);
  variables["LOCAL_WORLD_SIZE"] = "2";
  EXPECT_TRUE(read(variables).one_host);
}

TEST(Environment, ReadsMpirunOnOneHost) {
  const Place place = read({{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "4242.1"}});
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.host, "127.0.0.1");
  EXPECT_GE(place.port, 15000);
  EXPECT_FALSE(place.starter_serves);
}

TEST(Environment, GivesAllRanksOfOneMpiJobTheSamePort) {
  Variables variables = {
      {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "a"}};
  const auto port = read(variables).port;
  variables["OMPI_COMM_WORLD_RANK"] = "1";
  EXPECT_EQ(read(variables).port, port);
}

TEST(Environment, ReadsSrunOverSeveralNodes) {
  const Place place = read({{"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "6"},
                            {"SLURM_NTASKS", "12"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                            {"SLURM_STEP_NODELIST", "gpu[07-09]"},
                            {"SLURM_JOB_ID", "99"},
                            {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 6);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.host, "gpu07");
}

TEST(Environment, TakesTheFirstHostOfASlurmList) {
  const auto host = [](const std::string& list) {
    return read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_NODELIST", list}}).host;
  };
  EXPECT_EQ(host("alone"), "alone");
  EXPECT_EQ(host("a,b[1-3]"), "a");
  EXPECT_EQ(host("n[3,5-7]"), "n3");
  EXPECT_EQ(host("n[12]"), "n12");
}

TEST(Environment, PrefersTheLauncherInsideASlurmJob) {
  const Place place = read({{"RANK", "1"},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_PORT", "1234"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "1"}});
  EXPECT_EQ(place.starter, "torchrun");
  EXPECT_EQ(place.size, 2);
}

TEST(Environment, NamesTheVariableThatMakesNoSense) {
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Variables variables = good;
    variables[name] = value;
    return error_of(variables);
  };
  EXPECT_EQ(with("RANK", "2"), "the variable RANK must be a whole number from 0 to 1, got '2'");
  EXPECT_THAT(with("RANK", "-1"), HasSubstr("RANK must be"));
  EXPECT_THAT(with("RANK", "one"), HasSubstr("got 'one'"));
  EXPECT_THAT(with("RANK", ""), HasSubstr("got ''"));
  EXPECT_THAT(with("WORLD_SIZE", "0"), HasSubstr("WORLD_SIZE must be"));
  EXPECT_THAT(with("WORLD_SIZE", "2x"), HasSubstr("got '2x'"));
  EXPECT_THAT(with("MASTER_PORT", "70000"), HasSubstr("MASTER_PORT must be"));
  EXPECT_THAT(with("LOCAL_RANK", "x"), HasSubstr("LOCAL_RANK must be"));
  EXPECT_THAT(with("LOCAL_WORLD_SIZE", "3"), HasSubstr("LOCAL_WORLD_SIZE must be"));
}

TEST(Environment, NamesTheVariableThatIsMissing) {
  EXPECT_EQ(error_of({{"RANK", "0"}}), "the starter sets no variable WORLD_SIZE");
  EXPECT_EQ(error_of({{"WORLD_SIZE", "2"}}), "the starter sets no variable RANK");
  EXPECT_EQ(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "the starter sets no variable MASTER_PORT");
  EXPECT_THAT(error_of({{"OMPI_COMM_WORLD_RANK", "0"}}), HasSubstr("OMPI_COMM_WORLD_SIZE"));
}

TEST(Environment, AsksWhereRankZeroIsForMpirunOverSeveralHosts) {
  EXPECT_THAT(error_of({{"OMPI_COMM_WORLD_RANK", "0"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
              HasSubstr("set MASTER_ADDR"));
}

}  // namespace
}  // namespace sheaf::comm
