#include "cli/data/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace sheaf::cli {
namespace {

constexpr std::chrono::milliseconds kLiveInterval{100};
constexpr std::chrono::seconds kPlainInterval{10};
constexpr int kBarWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::ostream& out, bool live)
    : out_(out), live_(live), next_(start_ + (live ? Clock::duration(0) : kPlainInterval)) {}

ProgressLine::~ProgressLine() {
  if (live_) out_ << kClearLine << std::flush;
}

Seconds ProgressLine::elapsed() const { return Clock::now() - start_; }

void ProgressLine::show(const data::ReadProgress& progress) {
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (live_ ? Clock::duration(kLiveInterval) : Clock::duration(kPlainInterval));
  const std::string text = progress_text(progress, elapsed());
  out_ << (live_ ? kClearLine + text : text + "\n") << std::flush;
}

std::string progress_text(const data::ReadProgress& progress, Seconds elapsed) {
  const double part = progress.bytes == 0 ? 1.0
                                          : static_cast<double>(progress.bytes_read) /
                                                static_cast<double>(progress.bytes);
  const int filled = std::clamp(static_cast<int>(part * kBarWidth), 0, kBarWidth);
  std::string text = fmt::format("[{}{}] {:3.0f} %",
                                 std::string(static_cast<std::size_t>(filled), '#'),
                                 std::string(static_cast<std::size_t>(kBarWidth - filled), '.'),
                                 part * 100);
  const double seconds = std::max(elapsed.count(), 1e-3);
  text += fmt::format("  {:.1f} MB/s", static_cast<double>(progress.bytes_read) / seconds / 1e6);
  if (progress.tokens > 0)
    text += fmt::format("  {:.1f} M tokens", static_cast<double>(progress.tokens) / 1e6);
  if (part > 0) text += fmt::format("  {} left", to_string(Seconds(seconds * (1 - part) / part)));
  return text;
}

}  // namespace sheaf::cli
