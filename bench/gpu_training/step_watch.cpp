#include "step_watch.h"

#include <fstream>
#include <utility>

namespace sheaf::bench {
namespace {

// Short beside any step, and rare enough to cost nothing.
constexpr std::chrono::milliseconds kPause{1};
constexpr std::string_view kStepLine = R"("event":"step")";

}  // namespace

double StepArrivals::first_s() const { return steps.empty() ? 0 : steps.front().count(); }

double StepArrivals::mean_ms(std::int64_t warm_up) const {
  const auto first = static_cast<std::size_t>(warm_up);
  if (first == 0 || steps.size() <= first) return 0;
  const Seconds time = steps.back() - steps[first - 1];
  return time.count() * 1e3 / static_cast<double>(steps.size() - first);
}

StepWatch::StepWatch(std::string path)
    : path_(std::move(path)), thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          look();
          std::this_thread::sleep_for(kPause);
        }
      }) {}

StepArrivals StepWatch::stop() {
  thread_.request_stop();
  thread_.join();
  look();
  return arrivals_;
}

void StepWatch::look() {
  std::ifstream file(path_);
  if (!file) return;
  file.seekg(read_);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    read_ += static_cast<std::streamoff>(line.size()) + 1;
    if (line.find(kStepLine) != std::string::npos) {
      arrivals_.steps.emplace_back(std::chrono::steady_clock::now() - start_);
    }
  }
}

}  // namespace sheaf::bench
