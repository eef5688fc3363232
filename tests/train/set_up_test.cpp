#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sheaf/train/trainer.h"

namespace sheaf::train {
namespace {

// Puts back what a test changes for the whole process.
class SetUpProcess : public testing::Test {
 protected:
  ~SetUpProcess() override {
    ::unsetenv(kVariable);
    set_up_process({});
  }
  static constexpr const char* kVariable = "CUBLAS_WORKSPACE_CONFIG";
  static RunOptions deterministic() {
    RunOptions options;
    options.train.deterministic = true;
    return options;
  }
};

TEST_F(SetUpProcess, FixesWhatCublasAndCudnnDoWhenAskedFor) {
  set_up_process(deterministic());
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_TRUE(at::globalContext().deterministicCuDNN());
  EXPECT_EQ(std::string(std::getenv(kVariable)), ":4096:8");
}

TEST_F(SetUpProcess, LeavesThemAloneOtherwise) {
  set_up_process({});
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicCuDNN());
  EXPECT_EQ(std::getenv(kVariable), nullptr);
}

TEST_F(SetUpProcess, KeepsTheWorkspacesThatAreSet) {
  ::setenv(kVariable, ":16:8", 1);
  set_up_process(deterministic());
  EXPECT_EQ(std::string(std::getenv(kVariable)), ":16:8");
}

}  // namespace
}  // namespace sheaf::train
