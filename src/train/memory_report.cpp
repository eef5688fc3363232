#include "sheaf/train/memory_report.h"

#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "sheaf/base/error.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/holders.h"
#include "sheaf/train/memory_use.h"
#include "sheaf/train/parallelize.h"
#include "sheaf/train/prediction.h"
#include "train/gpu.h"

namespace sheaf::train {
namespace {

constexpr std::size_t kSpans = 200;

void write_snapshot(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << gpu_snapshot();
  if (!file.flush()) throw IoError(fmt::format("cannot write the memory snapshot {}", path));
}

}  // namespace

MemoryProbe::MemoryProbe(const RunOptions& options, std::int64_t step, std::string snapshot)
    : options_(options),
      step_(step),
      snapshot_(std::move(snapshot)),
      on_gpu_(options.comm.device == comm::DeviceKind::cuda) {}

void MemoryProbe::start(const RunInfo& info) {
  report_.info = info;
  if (const auto run = planned_run(options_, info.ranks)) {
    report_.predicted = plan::predict_memory(run->model, run->setting);
  }
  if (step_ == info.first_step + 1) begin();
}

void MemoryProbe::step(const StepRecord& step, const Progress& /*progress*/) {
  if (step.step == step_) finish(step);
  if (step.step + 1 == step_) begin();
}

void MemoryProbe::begin() {
  if (on_gpu_) {
    if (!snapshot_.empty()) record_gpu_history();
    reset_gpu_peak(device_of(options_.comm));
    return;
  }
  report_.resting = memory::by_purpose(memory::cpu_holders());
  memory::reset_cpu_peak();
  memory::start_timeline();
}

void MemoryProbe::finish(const StepRecord& step) {
  report_.step = step.step;
  report_.step_time = step.time;
  report_.use = measure_memory(device_of(options_.comm));
  report_.peak = report_.use.peak_allocated;
  if (on_gpu_) {
    report_.allocator = gpu_allocator(device_of(options_.comm));
    if (!snapshot_.empty()) write_snapshot(snapshot_);
    return;
  }
  const memory::Timeline timeline = memory::stop_timeline();
  report_.at_peak = memory::peak_of(timeline);
  report_.timeline = memory::sampled(timeline, kSpans);
}

}  // namespace sheaf::train
