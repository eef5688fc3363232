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

/// A piece of a GPU's memory that its allocator cuts tensors from.
struct Segment {
  Bytes size;
  Bytes in_use;
};

/// What a GPU's allocator held at one moment, or by how much that changed.
struct AllocatorMoment {
  Seconds time{0};
  Bytes in_use;
  Bytes reserved;
};

/// What a GPU's allocator has taken from it.
struct AllocatorUse {
  std::int64_t segments = 0;
  /// What of them no tensor uses but cannot be given back, because the rest of its block is used.
  Bytes unusable;
  /// How often memory had to be given back before there was enough.
  std::int64_t retries = 0;
  /// Largest first, and what was held over time; only where a snapshot was asked for.
  std::vector<Segment> segment_list = {};
  std::vector<AllocatorMoment> history = {};
};

/// Which steps are measured, and what is kept of them.
struct ProbeOptions {
  /// The last of them, counted from 1; the first ones of a run still make states and learn the
  /// order of units.
  std::int64_t step = 3;
  std::int64_t steps = 1;
  /// File for all that a GPU's allocator did meanwhile, which memory_viz reads; none if empty.
  std::string snapshot = {};
};

/// The memory of one rank in one step or several, measured and predicted.
struct MemoryReport {
  RunInfo info;
  /// The last one, and how many there were.
  std::int64_t step = 0;
  std::int64_t steps = 1;
  /// Nothing for runs that are not planned.
  std::optional<plan::Prediction> predicted;
  /// Most that there was, by the allocator's own count.
  Bytes peak;
  /// Of all steps together.
  Seconds time{0};
  /// Before the first step; and, on the CPU, at the peak and over time.
  memory::ByPurpose resting;
  memory::Moment at_peak;
  std::vector<memory::Moment> timeline;
  MemoryUse use;
  /// On a GPU.
  std::optional<AllocatorUse> allocator;
};

/// Measures steps of a run on rank 0, as a sink of that run, which has Hooks::labels_memory set.
class MemoryProbe final : public Sink {
 public:
  /// A snapshot is written at the end of the last step, while the run still holds its memory, and
  /// may throw IoError.
  MemoryProbe(const RunOptions& options, ProbeOptions probe);

  void start(const RunInfo& info) override;
  void step(const StepRecord& step, const Progress& progress) override;
  void evaluation(const EvaluationRecord& /*evaluation*/) override {}
  void sample(std::int64_t /*step*/, const std::string& /*text*/) override {}
  void end(const Summary& /*summary*/) override {}

  [[nodiscard]] const MemoryReport& report() const { return report_; }

 private:
  void begin();
  void finish(const StepRecord& step);

  [[nodiscard]] std::int64_t first_step() const { return probe_.step - probe_.steps + 1; }

  const RunOptions& options_;
  ProbeOptions probe_;
  bool on_gpu_;
  MemoryReport report_;
};

/// Returns the report for people, and as JSON.
[[nodiscard]] std::string memory_page(const MemoryReport& report);
[[nodiscard]] std::string memory_report_json(const MemoryReport& report);

}  // namespace sheaf::train
