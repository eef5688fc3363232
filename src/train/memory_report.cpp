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

// Of the timeline, for each step.
constexpr std::size_t kSpans = 200;

void write_snapshot(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << gpu_snapshot();
  if (!file.flush()) throw IoError(fmt::format("cannot write the memory snapshot {}", path));
}

}  // namespace

MemoryProbe::MemoryProbe(const RunOptions& options, ProbeOptions probe)
    : options_(options),
      probe_(std::move(probe)),
      on_gpu_(options.comm.device == comm::DeviceKind::cuda) {}

void MemoryProbe::start(const RunInfo& info) {
  report_.info = info;
  if (const auto run = planned_run(options_, info.ranks)) {
    report_.predicted = plan::predict_memory(run->model, run->setting);
  }
  if (first_step() == info.first_step + 1) begin();
}

void MemoryProbe::step(const StepRecord& step, const Progress& /*progress*/) {
  if (step.step >= first_step()) report_.time += step.time;
  if (step.step == probe_.step) finish(step);
  if (step.step + 1 == first_step()) begin();
}

void MemoryProbe::begin() {
  if (on_gpu_) {
    if (!probe_.snapshot.empty()) record_gpu_history();
    reset_gpu_peak(device_of(options_.comm));
    return;
  }
  report_.resting = memory::by_purpose(memory::cpu_holders());
  memory::reset_cpu_peak();
  memory::start_timeline();
}

void MemoryProbe::finish(const StepRecord& step) {
  report_.step = step.step;
  report_.steps = probe_.steps;
  report_.use = measure_memory(device_of(options_.comm));
  report_.peak = report_.use.peak_allocated;
  if (on_gpu_) {
    report_.allocator = gpu_allocator(device_of(options_.comm));
    if (!probe_.snapshot.empty()) {
      add_gpu_history(*report_.allocator, device_of(options_.comm), kSpans);
      write_snapshot(probe_.snapshot);
    }
    return;
  }
  const memory::Timeline timeline = memory::stop_timeline();
  report_.at_peak = memory::peak_of(timeline);
  report_.timeline = memory::sampled(timeline, kSpans * static_cast<std::size_t>(probe_.steps));
}

}  // namespace sheaf::train
