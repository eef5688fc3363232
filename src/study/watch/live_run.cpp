#include "study/watch/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 2000;
// A line of a step has times in it, which no other run has to the last digit.
constexpr std::size_t kRemembered = 512;
constexpr std::uintmax_t kLargestRankFile = 64 * 1024;
constexpr int kMostRanks = 4096;

/// Steps have much that the page does not show, and there may be millions.
Json shortened(const Json& line) {
  if (line["event"] != "step") return line;
  constexpr std::array kKept{"event",
                             "step",
                             "loss",
                             "learning_rate",
                             "gradient_norm",
                             "seconds",
                             "items_per_second",
                             "mean_items_per_second",
                             "mfu",
                             "mean_mfu",
                             "elapsed_seconds",
                             "remaining_seconds",
                             "phases",
                             "memory"};
  Json kept;
  for (const char* key : kKept) {
    if (line.contains(key)) kept[key] = line[key];
  }
  return kept;
}

Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

LiveRun::LiveRun(fs::path folder) : folder_(std::move(folder)) {}

void LiveRun::take_line(const std::string& text) {
  const Json line = parsed(text);
  if (line.is_object() && line.contains("event")) lines_.push_back(shortened(line));
}

void LiveRun::begin_anew() {
  ++run_;
  read_ = 0;
  last_read_.clear();
  open_line_.clear();
  lines_.clear();
}

/// Returns what the file has after what was read; nothing if the bytes before that are not the ones
/// that were read: another file has taken its place.
std::optional<std::string> LiveRun::rest_of(const fs::path& path) const {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(read_ - last_read_.size()));
  std::ostringstream rest;
  rest << file.rdbuf();
  std::string text = rest.str();
  if (!text.starts_with(last_read_)) return std::nullopt;
  return text.substr(last_read_.size());
}

void LiveRun::read_more() {
  const fs::path path = folder_ / "metrics.jsonl";
  std::error_code error;
  if (!fs::exists(path, error)) return;
  auto text = rest_of(path);
  if (!text) {
    begin_anew();
    text = rest_of(path);
  }
  if (text->empty()) return;
  read_ += text->size();
  last_read_ += *text;
  if (last_read_.size() > kRemembered) last_read_.erase(0, last_read_.size() - kRemembered);
  open_line_ += *text;
  std::size_t begin = 0;
  for (std::size_t end; (end = open_line_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    take_line(open_line_.substr(begin, end - begin));
  }
  open_line_.erase(0, begin);
}

/// Goes by numbers, not by what lies in the folder: nothing else can be read in this way.
Json LiveRun::ranks() const {
  Json all = Json::array();
  for (int rank = 0; rank < kMostRanks; ++rank) {
    const fs::path path = folder_ / "ranks" / fmt::format("rank_{}.json", rank);
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error))) break;
    if (fs::file_size(path, error) > kLargestRankFile || error) continue;
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    const Json one = parsed(text.str());
    if (one.is_object()) all.push_back(one);
  }
  return all;
}

Json LiveRun::since(std::int64_t since, std::int64_t run) {
  read_more();
  const auto count = static_cast<std::int64_t>(lines_.size());
  // Who asks for more than there is, or for another run, begins with the first line.
  const bool is_new = run != run_ || since < 0 || since > count;
  const std::int64_t begin = is_new ? 0 : since;
  const std::int64_t end = std::min<std::int64_t>(count, begin + kMostLines);
  Json lines = Json::array();
  for (std::int64_t i = begin; i < end; ++i) lines.push_back(lines_[i]);
  return {{"run", run_}, {"from", begin}, {"next", end}, {"lines", lines}, {"ranks", ranks()}};
}

}  // namespace sheaf::study
