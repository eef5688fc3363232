#include "sheaf/profile/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include "base/file_descriptor.h"
#include "sheaf/base/error.h"
#include "trace_writer.h"

namespace sheaf::profile {
namespace {

using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ExperimentalConfig;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// Kineto has one session per process.
std::atomic<bool> is_recording = false;

ProfilerConfig config() {
  ExperimentalConfig experimental;
  // The thread of exchanges, too.
  experimental.profile_all_threads = true;
  return ProfilerConfig(ProfilerState::KINETO,
                        /*report_input_shapes=*/false,
                        /*profile_memory=*/false,
                        /*with_stack=*/false,
                        /*with_flops=*/false,
                        /*with_modules=*/false,
                        experimental);
}

void start_kineto(bool with_cuda) {
  // Else it complains on stderr where there is no GPU; who has set it knows why.
  ::setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (with_cuda) activities.insert(ActivityType::CUDA);
  torch::autograd::profiler::prepareProfiler(config(), activities);
  torch::autograd::profiler::enableProfiler(
      config(),
      activities,
      {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
}

// Makes an empty file of that name; what a killed process left of it goes.
bool is_made(const std::string& path) {
  ::unlink(path.c_str());
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  return file.is_open();
}

}  // namespace

Recording::Recording(bool with_cuda) {
  if (is_recording.exchange(true)) {
    throw UsageError(
        "this process records a trace already: ranks that are threads cannot have one each, so "
        "start them as processes");
  }
  try {
    start_kineto(with_cuda);
  } catch (...) {
    is_recording = false;
    throw;
  }
}

Recording::~Recording() {
  if (!ended_) torch::autograd::profiler::disableProfiler();
  is_recording = false;
}

void Recording::save(const std::string& path, const TraceNotes& notes, const Recorder& recorder) {
  const std::string raw = path + ".unfinished";
  // Kineto itself only complains on stderr, and would follow a link.
  if (!is_made(raw)) throw IoError(fmt::format("cannot write the trace {}", path));
  ended_ = true;
  torch::autograd::profiler::disableProfiler()->save(raw);
  write_with_notes(raw, path, notes, recorder);
  std::error_code ignored;
  std::filesystem::remove(raw, ignored);
}

std::int64_t wall_clock_offset() {
  // The quickest reading is the best: one that loses its core between two clocks sees them apart.
  constexpr int kReadings = 16;
  std::int64_t quickest = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t before = Recorder::now();
    const std::int64_t wall =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::int64_t took = Recorder::now() - before;
    if (took >= quickest) continue;
    quickest = took;
    offset = wall - (before + took / 2);
  }
  return offset;
}

}  // namespace sheaf::profile
