// The same as PyTorch: from the same weights, on the same data, 20 steps of two ranks give the same
// losses and weights as PyTorch's own strategies.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/nn.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pytorch_gpt.h"
#include "support/run_command.h"
#include "support/safetensors.h"
#include "torchrun.h"

namespace sheaf {
namespace {

using testing::PytorchGpt;
using testing::TensorFile;
using Words = std::vector<std::string>;

constexpr std::int64_t kSteps = 20;
constexpr std::int64_t kBatch = 8;
// Both compute in fp32 with the same kernels, but sum up in another order and other buffers.
constexpr double kLossTolerance = 1e-5;
constexpr double kWeightTolerance = 1e-4;

// A folder of its own for each test, as they may run at the same time.
class SameAsPytorch : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = testing::find_torchrun();
    if (!found) GTEST_SKIP() << testing::kInstallTorchrun;
    torchrun_ = *found;
    folder_ = ::testing::TempDir() + "sheaf_pytorch_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    write_start();
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ + "/" + name; }

  // Every row of text counts up by threes from somewhere: soon learnt, so that losses do change.
  void write_start() const {
    at::manual_seed(7);
    const PytorchGpt model;
    TensorFile start;
    for (const auto& item : model.named_parameters()) start[item.key()] = item.value();
    start.erase("head.weight");  // the embedding's other name
    const at::Tensor first = at::randint(PytorchGpt::kVocabulary, {kSteps, kBatch, 1}, at::kLong);
    const at::Tensor counted = first + at::arange(PytorchGpt::kContext + 1) * 3;
    start["text"] = counted.remainder(PytorchGpt::kVocabulary);
    testing::write_safetensors(file("start"), start);
  }

  [[nodiscard]] TensorFile run(const Words& launcher, const std::string& strategy) const {
    Words command{"env", "OMP_NUM_THREADS=1"};
    command.insert(command.end(), launcher.begin(), launcher.end());
    command.insert(command.end(), {strategy, file("start"), file("result")});
    const auto result = testing::run_command(command);
    EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
    if (result.exit_code != 0) return {};
    TensorFile values = testing::read_safetensors(file("result"));
    std::filesystem::remove(file("result"));
    return values;
  }

  void expect_same(const std::string& stage, const std::string& strategy) {
    const TensorFile ours =
        run({SHEAF_PROGRAM, "launch", "--ranks", "2", "--", SHEAF_PYTORCH_RANKS}, stage);
    const TensorFile theirs =
        run({torchrun_, "--standalone", "--nproc-per-node=2", SHEAF_PYTORCH_PEER}, strategy);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(ours.size(), theirs.size());
    const at::Tensor& losses = theirs.at("losses");
    EXPECT_LT(losses[-1].item<double>(), 0.5 * losses[0].item<double>()) << losses;
    for (const auto& [name, value] : theirs) {
      const double tolerance = name == "losses" ? kLossTolerance : kWeightTolerance;
      const auto worst = (ours.at(name) - value).abs().max().item<double>();
      EXPECT_LE(worst, tolerance) << name;
      RecordProperty(name, fmt::format("{:.1e}", worst));
    }
  }

 private:
  std::string torchrun_;
  std::string folder_;
};

TEST_F(SameAsPytorch, Ddp) { expect_same("ddp", "ddp"); }

TEST_F(SameAsPytorch, Zero1IsDdpWithZeroRedundancyOptimizer) { expect_same("zero1", "ddp_zero"); }

TEST_F(SameAsPytorch, Zero2IsFullyShardThatKeepsParameters) { expect_same("zero2", "fsdp2_kept"); }

TEST_F(SameAsPytorch, Zero3IsFullyShard) { expect_same("zero3", "fsdp2"); }

}  // namespace
}  // namespace sheaf
