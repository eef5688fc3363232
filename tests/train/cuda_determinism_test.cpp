// Two runs of the program on a GPU, bit for bit the same.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu/programs.h"
#include "support/run_command.h"

namespace sheaf::testing {
namespace {

class DeterministicOnCuda : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Trains and returns the losses and norms of all steps, as they were written.
  std::vector<std::string> run() {
    const CommandResult result = run_command({sheaf_program(),
                                              "train",
                                              "--model.preset=gpt2-tiny",
                                              "--model.dropout=0.1",
                                              "--data.source=stories",
                                              "--data.size=200000",
                                              "--batch.global=16",
                                              "--batch.micro=8",
                                              "--train.steps=30",
                                              "--train.sample_tokens=0",
                                              "--train.deterministic=true",
                                              "--comm.device=cuda",
                                              "--precision.compute=" + GetParam(),
                                              "--log.dir=" + folder_});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    std::ifstream file(folder_ + "/metrics.jsonl");
    std::vector<std::string> figures;
    for (std::string line; std::getline(file, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record["event"] != "step") continue;
      figures.push_back(record["loss"].dump() + " " + record["gradient_norm"].dump());
    }
    std::filesystem::remove_all(folder_);
    return figures;
  }

 private:
  std::string folder_ = ::testing::TempDir() + "sheaf_same_bits_" + std::to_string(::getpid());
};

TEST_P(DeterministicOnCuda, TwoRunsAreEqualBitForBit) {
  const auto first = run();
  EXPECT_EQ(first.size(), 30U);
  EXPECT_THAT(run(), ::testing::ElementsAreArray(first));
}

INSTANTIATE_TEST_SUITE_P(All,
                         DeterministicOnCuda,
                         ::testing::Values("fp32", "bf16"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace sheaf::testing
