// Runs over several hosts whose network fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "network/hosts.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Programs = std::vector<std::unique_ptr<HostProgram>>;

class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_hosts()) GTEST_SKIP() << *reason;
    folder_.write("secret", std::string(44, 's'));
    fs::permissions(folder_.path("secret"), fs::perms::owner_read);
  }

  /// Starts one launcher with one rank on every host.
  Programs launch(const Hosts& hosts, int count) {
    Programs programs;
    for (int host = 0; host < count; ++host) {
      programs.push_back(hosts.start(
          host,
          std::string("OMP_NUM_THREADS=1 exec " SHEAF_PROGRAM " launch --ranks 1 --nodes ") +
              std::to_string(count) + " --node-rank " + std::to_string(host) + " --endpoint " +
              Hosts::address(0) + ":29500 --node-timeout 3 --secret-file " +
              folder_.path("secret") + " -- " SHEAF_ATTACKED_RUN " gloo " + folder_.path()));
    }
    return programs;
  }

  /// Waits until the ranks exchange numbers; false if a program ended instead.
  bool wait_until_it_runs(Programs& programs) {
    while (!fs::exists(folder_.path("ready"))) {
      for (auto& program : programs) {
        if (program->has_ended()) return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  void let_it_end() { folder_.write("go", ""); }

  TemporaryFolder folder_;
};

TEST_F(Network, CarriesARunOverTwoHosts) {
  const Hosts hosts(2);
  auto programs = launch(hosts, 2);
  let_it_end();
  EXPECT_EQ(programs[0]->wait(), 0) << programs[0]->err();
  EXPECT_EQ(programs[1]->wait(), 0) << programs[1]->err();
  EXPECT_THAT(programs[0]->out(), HasSubstr("[0] weights "));
}

TEST_F(Network, MayBeSlow) {
  let_it_end();
  const Hosts hosts(2);
  auto fast = launch(hosts, 2);
  ASSERT_EQ(fast[0]->wait(), 0) << fast[0]->err();
  ASSERT_EQ(fast[1]->wait(), 0) << fast[1]->err();
  hosts.slow_down(1, "2mbit");
  auto slow = launch(hosts, 2);
  EXPECT_EQ(slow[0]->wait(), 0) << slow[0]->err();
  EXPECT_EQ(slow[0]->out(), fast[0]->out());
}

TEST_F(Network, LosesAHostAndNamesIt) {
  const Hosts hosts(2);
  auto programs = launch(hosts, 2);
  ASSERT_TRUE(wait_until_it_runs(programs)) << programs[0]->err() << programs[1]->err();
  hosts.cut(1);
  EXPECT_EQ(programs[0]->wait(), 1);
  EXPECT_EQ(programs[1]->wait(), 1);
  EXPECT_THAT(
      programs[0]->err(),
      ContainsRegex("error launch: node 1 \\(sheafhost1, pid [0-9]+\\) is gone: nothing was heard "
                    "of its launcher"));
  EXPECT_THAT(programs[1]->err(),
              HasSubstr("error launch: no launcher of node 0 at 10.77.0.1:29500: it died, or its "
                        "machine was not heard of for 3.0 s"));
}

TEST_F(Network, IsPartedAndBothSidesNameTheOther) {
  const Hosts hosts(3);
  auto programs = launch(hosts, 3);
  ASSERT_TRUE(wait_until_it_runs(programs)) << programs[0]->err() << programs[2]->err();
  hosts.cut(2);
  for (auto& program : programs) EXPECT_EQ(program->wait(), 1);
  EXPECT_THAT(programs[0]->err(), ContainsRegex("node 2 \\(sheafhost2, pid [0-9]+\\) is gone"));
  EXPECT_THAT(programs[1]->err(), ContainsRegex("node 2 \\(sheafhost2, pid [0-9]+\\) is gone"));
  EXPECT_THAT(programs[2]->err(), HasSubstr("no launcher of node 0 at 10.77.0.1:29500"));
}

// As under srun or mpirun: nobody watches the ranks, so that they say it themselves.
TEST_F(Network, LosesAHostWithoutALauncher) {
  const Hosts hosts(2);
  Programs programs;
  for (const char* rank : {"0", "1"}) {
    programs.push_back(
        hosts.start(rank[0] - '0',
                    std::string("OMP_NUM_THREADS=1 RANK=") + rank +
                        " WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 "
                        "SHEAF_SECRET_FILE=" +
                        folder_.path("secret") + " exec " SHEAF_ATTACKED_RUN " gloo " +
                        folder_.path() + " 20"));
  }
  ASSERT_TRUE(wait_until_it_runs(programs)) << programs[0]->err() << programs[1]->err();
  hosts.cut(1);
  EXPECT_EQ(programs[0]->wait(), 1);
  EXPECT_EQ(programs[1]->wait(), 1);
  EXPECT_THAT(programs[0]->err(),
              ContainsRegex("gone during all_reduce, .*: rank 1 \\(pid [0-9]+ on sheafhost1\\)"));
  EXPECT_THAT(programs[1]->err(), HasSubstr("the machine of rank 0 or the network to it is gone"));
}

}  // namespace
}  // namespace sheaf::testing
