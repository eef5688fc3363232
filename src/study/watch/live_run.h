#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "study/json.h"

namespace sheaf::study {

/// Follows metrics.jsonl of a folder while a run writes it, and the ranks' own files. Reads only.
class LiveRun {
 public:
  explicit LiveRun(std::filesystem::path folder);

  /// Returns the lines from number `since` on, shortened to what the page shows, at most some
  /// thousand at a time: `lines`, `next` for the next call, `ranks`, and `run`, another number
  /// whenever the file has begun anew.
  [[nodiscard]] Json since(std::int64_t since);

 private:
  void read_more();
  void take_line(const std::string& text);
  [[nodiscard]] Json ranks() const;

  std::filesystem::path folder_;
  std::int64_t run_ = 0;
  std::uintmax_t read_ = 0;
  std::string open_line_;
  std::vector<Json> lines_;
};

}  // namespace sheaf::study
