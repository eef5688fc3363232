#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sheaf/train/record.h"
#include "sheaf/train/sink.h"

namespace sheaf::testing {

/// A run of four GPUs whose numbers are easy to follow: 1,000 FLOP per token, peak 1 TFLOP/s each.
[[nodiscard]] inline train::RunInfo sample_info() {
  return {.item_name = "tokens",
          .model = "gpt2",
          .parameters = 124'439'808,
          .flops_per_item = 1000,
          .ranks = 4,
          .devices = 4,
          .strategy = "zero3",
          .backend = "nccl",
          .device = "cuda",
          .mesh = "shard 4",
          .precision = "bf16",
          .data = "stories",
          .batch = "8 texts of 128 tokens",
          .steps = 200,
          .first_step = 0,
          .memory = {{"parameters", mebibytes(3)}, {"gradients", mebibytes(1)}},
          .peak_flops_per_device = 1e12,
          .peak_source = "a test's device"};
}

/// Half a second with a thousand tokens.
[[nodiscard]] inline train::StepRecord sample_step(std::int64_t number) {
  return {.step = number,
          .epoch = 1,
          .loss = 2.5,
          .learning_rate = 3e-4,
          .gradient_norm = 1.25,
          .items = 1000,
          .sample_hash = 0xabc,
          .time = Seconds(0.5),
          .phases = {.data_wait = Seconds(0.02),
                     .forward = Seconds(0.1),
                     .backward = Seconds(0.2),
                     .exposed_communication = Seconds(0.05),
                     .optimizer = Seconds(0.03),
                     .idle = Seconds(0.1),
                     .hidden_communication = Seconds(0.04)},
          .memory = {.allocated = mebibytes(512),
                     .peak_allocated = mebibytes(768),
                     .resident = gibibytes(1),
                     .peak_resident = gibibytes(2)}};
}

[[nodiscard]] inline train::Progress sample_progress() {
  return {.counted_steps = 10,
          .items_per_second = 2000,
          .items_per_second_per_device = 500,
          .steps_per_second = 2,
          .achieved_flops = 1.6e12,
          .peak_flops = 4e12,
          .mfu = 0.4,
          .elapsed = Seconds(90),
          .remaining = Seconds(30)};
}

[[nodiscard]] inline train::EvaluationRecord sample_evaluation() {
  return {.step = 100, .epoch = 2, .loss = 2.0, .items = 5000, .time = Seconds(1.5)};
}

[[nodiscard]] inline train::Summary sample_summary() {
  train::Summary summary{.steps = 200, .first_loss = 5.25, .last_loss = 2.125};
  summary.evaluation = sample_evaluation();
  summary.progress = sample_progress();
  for (int i = 0; i < 10; ++i) summary.phases += sample_step(1).phases;
  summary.memory = {sample_step(1).memory, sample_step(1).memory};
  summary.epochs = {Seconds(40), Seconds(44)};
  return summary;
}

[[nodiscard]] inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder that is gone at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "sheaf_train_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sheaf::testing
