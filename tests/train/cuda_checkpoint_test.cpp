// A run of the program on a GPU that is stopped and started again, there and on the CPU.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "gpu/programs.h"
#include "support/run_command.h"
#include "support/same_tensors.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class CheckpointOnCuda : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  }

  /// Trains to a step with checkpoints in the background, or goes on to it, in folder `name`.
  CommandResult train(const std::string& name, int steps, const std::string& device = "cuda") {
    const CommandResult result = run_command({sheaf_program(),
                                              "train",
                                              "--model.preset=gpt2-tiny",
                                              "--model.dropout=0.1",
                                              "--data.source=stories",
                                              "--data.size=200000",
                                              "--batch.global=16",
                                              "--batch.micro=8",
                                              "--train.steps=" + std::to_string(steps),
                                              "--train.evaluate=false",
                                              "--train.sample_tokens=0",
                                              "--train.deterministic=true",
                                              "--comm.device=" + device,
                                              "--precision.compute=" + GetParam(),
                                              "--checkpoint.every=3",
                                              "--checkpoint.asynchronous=true",
                                              "--checkpoint.dir=" + folder_.path(name + "/saved"),
                                              "--log.dir=" + folder_.path(name + "/log")});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    return result;
  }

  /// Returns loss and norm of every step of folder `name`, as they were written.
  std::map<int, std::string> figures(const std::string& name) {
    std::map<int, std::string> found;
    std::ifstream file(folder_.path(name + "/log/metrics.jsonl"));
    for (std::string line; std::getline(file, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record["event"] != "step") continue;
      found[record["step"]] = record["loss"].dump() + " " + record["gradient_norm"].dump();
    }
    return found;
  }

  TemporaryFolder folder_;
};

TEST_P(CheckpointOnCuda, GoesOnBitForBit) {
  train("whole", 12);
  train("stopped", 7);
  EXPECT_THAT(train("stopped", 12).err, HasSubstr("going on from"));
  EXPECT_THAT(figures("whole"), SizeIs(12));
  EXPECT_EQ(figures("stopped"), figures("whole"));
  require_same_tensors(folder_.path("stopped/saved/latest"), folder_.path("whole/saved/latest"));
}

TEST_P(CheckpointOnCuda, GoesOnOnTheCpu) {
  train("moved", 6);
  EXPECT_THAT(train("moved", 8, "cpu").err, HasSubstr("going on from"));
  EXPECT_THAT(figures("moved"), SizeIs(8));
}

INSTANTIATE_TEST_SUITE_P(All,
                         CheckpointOnCuda,
                         ::testing::Values("fp32", "bf16"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace sheaf::testing
