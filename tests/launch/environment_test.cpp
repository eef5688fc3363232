#include "launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launcher_process.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const RankPlace kPlace{
    .rank = 9,
    .world_size = 12,
    .local_rank = 1,
    .local_ranks = 4,
    .node_rank = 2,
    .nodes = 3,
    .generation = 5,
    .max_restarts = 7,
    .endpoint = {
        .host = "head", .port = 1234, .secret = {}, .silence = std::chrono::milliseconds(2500)}};

TEST(Environment, HasTorchrunsVariables) {
  const auto environment = rank_environment({}, kPlace, 8);
  for (const char* entry : {"RANK=9",
                            "LOCAL_RANK=1",
                            "WORLD_SIZE=12",
                            "LOCAL_WORLD_SIZE=4",
                            "GROUP_RANK=2",
                            "GROUP_WORLD_SIZE=3",
                            "MASTER_ADDR=head",
                            "MASTER_PORT=1235",
                            "SHEAF_STORE_PORT=1234",
                            "SHEAF_STORE_SILENCE_MS=2500",
                            "TORCHELASTIC_USE_AGENT_STORE=False",
                            "TORCHELASTIC_RESTART_COUNT=5",
                            "TORCHELASTIC_MAX_RESTARTS=7",
                            "SHEAF_GENERATION=5",
                            "TORCHELASTIC_RUN_ID=sheaf_head_1234",
                            "OMP_NUM_THREADS=2"}) {
    EXPECT_THAT(environment, Contains(entry));
  }
}

TEST(Environment, ReplacesWhatIsInherited) {
  const std::vector<std::string> inherited{"RANK=77", "RANKS=5", "HOME=/root"};
  const auto environment = rank_environment(inherited, kPlace, 8);
  EXPECT_THAT(environment, Not(Contains("RANK=77")));
  EXPECT_THAT(environment, Contains("RANKS=5"));
  EXPECT_THAT(environment, Contains("HOME=/root"));
}

TEST(Environment, LeavesTheThreadsThatTheUserChose) {
  const std::vector<std::string> inherited{"OMP_NUM_THREADS=7"};
  EXPECT_THAT(rank_environment(inherited, kPlace, 8), Contains("OMP_NUM_THREADS=7"));
}

TEST(Environment, GivesEveryRankAtLeastOneThread) {
  EXPECT_THAT(rank_environment({}, kPlace, 2), Contains("OMP_NUM_THREADS=1"));
}

TEST(FindProgram, LooksInPathUnlessThereIsASlash) {
  EXPECT_THAT(find_program("bash"), HasSubstr("/bash"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
}

TEST(FindProgram, SaysWhyThereIsNone) {
  const auto message = [](const std::string& name) -> std::string {
    try {
      return "found " + find_program(name);
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("no-such-program"), "no such program in PATH: no-such-program");
  EXPECT_EQ(message("./no-such-program"), "no such program: ./no-such-program");
  EXPECT_EQ(message("/etc/passwd"), "the program is not an executable file: /etc/passwd");
  EXPECT_EQ(message("/usr"), "the program is not an executable file: /usr");
}

}  // namespace
}  // namespace sheaf::launch
