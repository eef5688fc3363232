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

void LiveRun::read_more() {
  const fs::path path = folder_ / "metrics.jsonl";
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return;
  if (size < read_) {
    ++run_;
    read_ = 0;
    open_line_.clear();
    lines_.clear();
  }
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(read_));
  std::ostringstream rest;
  rest << file.rdbuf();
  const std::string text = rest.str();
  read_ += text.size();
  open_line_ += text;
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

Json LiveRun::since(std::int64_t since) {
  read_more();
  const auto count = static_cast<std::int64_t>(lines_.size());
  // Who asks for more than there is has seen another run.
  const std::int64_t begin = since < 0 || since > count ? 0 : since;
  const std::int64_t end = std::min<std::int64_t>(count, begin + kMostLines);
  Json lines = Json::array();
  for (std::int64_t i = begin; i < end; ++i) lines.push_back(lines_[i]);
  return {{"run", run_}, {"from", begin}, {"next", end}, {"lines", lines}, {"ranks", ranks()}};
}

}  // namespace sheaf::study
