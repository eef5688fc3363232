// A checkpoint of a run, as transformers and PyTorch read it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sheaf/checkpoint/export.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/train/trainer.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"
#include "torchrun.h"

namespace sheaf {
namespace {

using checkpoint::ExportFormat;
using checkpoint::ExportPart;
using testing::TemporaryFolder;

/// Trains for a few steps, with a checkpoint in the middle.
void train_to(const std::string& folder, const models::ModelOptions& model) {
  train::RunOptions options;
  options.model = model;
  options.data.source = data::Source::stories;
  options.data.size = 4000;
  options.train.steps = 4;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  options.checkpoint.dir = folder;
  options.checkpoint.every = 2;
  comm::run_ranks(
      2, [&](const comm::Group& world) { static_cast<void>(train::run(options, world, {})); });
}

void export_all(const std::string& checkpoint, const TemporaryFolder& to) {
  const checkpoint::Reader reader(checkpoint);
  const auto write = [&](const char* name, ExportFormat format, ExportPart part) {
    checkpoint::export_checkpoint(reader, {.to = to.path(name), .format = format, .part = part});
  };
  write("model.safetensors", ExportFormat::safetensors, ExportPart::model);
  write("model.pt", ExportFormat::torch, ExportPart::model);
  write("all.pt", ExportFormat::torch, ExportPart::all);
  write("dcp", ExportFormat::dcp, ExportPart::all);
}

class CheckpointInterop : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto torchrun = testing::find_torchrun();
    if (!torchrun) GTEST_SKIP() << testing::kInstallTorchrun;
    python_ = std::filesystem::path(*torchrun).parent_path() / "python3";
    if (testing::run_command({python_, "-c", "import transformers"}).exit_code != 0) {
      GTEST_SKIP() << "transformers is not installed: run '" << python_
                   << " -m pip install transformers'";
    }
  }

  /// Trains a model, and lets transformers and PyTorch read the checkpoint in the middle.
  void expect_readable(const models::ModelOptions& model) {
    const TemporaryFolder exports;
    train_to(folder_.path(), model);
    export_all(middle(), exports);
    const auto result =
        testing::run_command({python_, SHEAF_CHECKPOINT_PEER, middle(), exports.path()});
    ASSERT_EQ(result.exit_code, 0) << testing::describe(result);
    const auto counts = nlohmann::json::parse(result.out);
    EXPECT_GT(counts["transformers"], 10);
    EXPECT_GT(counts["tokens"], 10);
    // Weights, and two moments of each.
    EXPECT_EQ(counts["dcp"].get<int>(), 3 * counts["torch"].get<int>());
    EXPECT_EQ(counts["dcp_as_it_is"], counts["dcp"]);
  }

  [[nodiscard]] std::string middle() const { return checkpoint::path_of_step(folder_.path(), 2); }

  TemporaryFolder folder_;
  std::string python_;
};

INSTANTIATE_TEST_SUITE_P(Models,
                         CheckpointInterop,
                         ::testing::Values("gpt2-tiny", "smollm3-tiny", "llama-tiny"));

TEST_P(CheckpointInterop, IsReadByTransformersAndPyTorch) {
  models::ModelOptions model;
  model.preset = GetParam();
  model.context = 16;
  expect_readable(model);
}

using LargeCheckpointInterop = CheckpointInterop;
INSTANTIATE_TEST_SUITE_P(Models, LargeCheckpointInterop, ::testing::Values("gpt2-tiny"));

TEST_P(LargeCheckpointInterop, IsReadFromSeveralFiles) {
  // Weights of 38 MB, which two ranks put into more than one file.
  models::ModelOptions model;
  model.preset = GetParam();
  model.context = 16;
  model.layers = 4;
  model.width = 448;
  model.heads = 7;
  expect_readable(model);
  EXPECT_TRUE(std::filesystem::exists(middle() + "/model.safetensors.index.json"));
  EXPECT_FALSE(std::filesystem::exists(middle() + "/model.safetensors"));
}

}  // namespace
}  // namespace sheaf
