#include "sheaf/launch/start_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "launch/launcher_process.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;

std::optional<int> start(std::vector<std::string> arguments) {
  std::vector<char*> argv{const_cast<char*>("program")};
  for (auto& argument : arguments) argv.push_back(argument.data());
  return start_ranks(static_cast<int>(argv.size()), argv.data());
}

// Keeps the variables by which launchers speak to ranks away from a test, and puts them back.
class StartRanks : public testing::Test {
 protected:
  StartRanks() {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      before_.emplace_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  ~StartRanks() override {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      before_[i].has_value() ? ::setenv(kNames[i], before_[i]->c_str(), 1) : ::unsetenv(kNames[i]);
    }
  }

  static constexpr std::array kNames = {"RANK",
                                        "WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NUM_TASKS"};
  std::vector<std::optional<std::string>> before_;
};

TEST_F(StartRanks, DoesNothingWithoutTheOption) {
  EXPECT_EQ(start({"--rank", "2", "ranks"}), std::nullopt);
  EXPECT_EQ(start({"--", "--ranks", "2"}), std::nullopt);
}

TEST_F(StartRanks, RefusesABadNumber) {
  const std::vector<std::vector<std::string>> table = {{"--ranks"},
                                                       {"--ranks="},
                                                       {"--ranks", "0"},
                                                       {"--ranks=-1"},
                                                       {"--ranks", "two"},
                                                       {"--ranks=2x"},
                                                       {"--ranks=2", "--ranks=2"}};
  for (const auto& arguments : table) {
    EXPECT_THROW((void)start(arguments), UsageError) << arguments.back();
  }
}

TEST_F(StartRanks, RefusesABadWordForMps) {
  EXPECT_THROW((void)start({"--ranks=2", "--mps", "yes"}), UsageError);
  EXPECT_THROW((void)start({"--ranks=2", "--mps"}), UsageError);
  EXPECT_EQ(start({"--mps", "yes"}), std::nullopt);
}

TEST_F(StartRanks, GoesOnAsARankOfAJobOfThatSize) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "4", 1);
  EXPECT_EQ(start({"--ranks", "4"}), std::nullopt);
  EXPECT_EQ(start({}), std::nullopt);
}

TEST_F(StartRanks, RefusesAnotherSizeThanTheJobs) {
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(start({"--ranks=8"}), std::nullopt);
  EXPECT_THROW((void)start({"--ranks=4"}), UsageError);
}

TEST_F(StartRanks, KnowsSlurmStepsFromSlurmAllocations) {
  ::setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  ::setenv("SLURM_PROCID", "0", 1);
  ::setenv("SLURM_STEP_ID", "0", 1);
  EXPECT_EQ(start({"--ranks=8"}), std::nullopt);
  EXPECT_THROW((void)start({"--ranks=2"}), UsageError);
}

TEST_F(StartRanks, RunsCopiesOfThisProgramWithoutTheOption) {
  LauncherProcess launcher([] { return start({"--role=say-rank", "--ranks=2"}).value_or(99); });
  EXPECT_EQ(launcher.wait(), 0) << launcher.err();
  EXPECT_THAT(launcher.out(), HasSubstr("rank 0 of 2\n"));
  EXPECT_THAT(launcher.out(), HasSubstr("[1] rank 1 of 2\n"));
}

TEST_F(StartRanks, ReturnsTheCodeOfARankThatFails) {
  LauncherProcess launcher([] { return start({"--ranks=2", "--role=fail"}).value_or(99); });
  EXPECT_EQ(launcher.wait(), 21);
}

}  // namespace
}  // namespace sheaf::launch
