#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/memory/timeline.h"
#include "sheaf/plan/memory.h"
#include "sheaf/train/options.h"
#include "sheaf/train/record.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

/// What a GPU's allocator has taken from it.
struct AllocatorUse {
  std::int64_t segments = 0;
  /// What of them no tensor uses but cannot be given back, because the rest of its block is used.
  Bytes unusable;
  /// How often memory had to be given back before there was enough.
  std::int64_t retries = 0;
};

/// The memory of one rank in one step, measured and predicted.
struct MemoryReport {
  RunInfo info;
  std::int64_t step = 0;
  /// Nothing for runs that are not planned.
  std::optional<plan::Prediction> predicted;
  /// Most that there was in the step, by the allocator's own count.
  Bytes peak;
  Seconds step_time{0};
  /// Before the step; and, on the CPU, at the peak and over time.
  memory::ByPurpose resting;
  memory::Moment at_peak;
  std::vector<memory::Moment> timeline;
  MemoryUse use;
  /// On a GPU.
  std::optional<AllocatorUse> allocator;
};

/// Measures one step of a run on rank 0, as a sink of that run, which has Hooks::labels_memory set.
class MemoryProbe final : public Sink {
 public:
  /// `step` counts from 1; the first ones still make states and learn the order of units. On a GPU
  /// the allocator writes down all it does in that step, for memory_viz to read in the file
  /// `snapshot`; none if empty. That is written at the end of the step, while the run still holds
  /// its memory, and may throw IoError.
  MemoryProbe(const RunOptions& options, std::int64_t step, std::string snapshot = "");

  void start(const RunInfo& info) override;
  void step(const StepRecord& step, const Progress& progress) override;
  void evaluation(const EvaluationRecord& /*evaluation*/) override {}
  void sample(std::int64_t /*step*/, const std::string& /*text*/) override {}
  void end(const Summary& /*summary*/) override {}

  [[nodiscard]] const MemoryReport& report() const { return report_; }

 private:
  void begin();
  void finish(const StepRecord& step);

  const RunOptions& options_;
  std::int64_t step_;
  std::string snapshot_;
  bool on_gpu_;
  MemoryReport report_;
};

/// Returns the report for people, and as JSON.
[[nodiscard]] std::string memory_page(const MemoryReport& report);
[[nodiscard]] std::string memory_report_json(const MemoryReport& report);

}  // namespace sheaf::train
