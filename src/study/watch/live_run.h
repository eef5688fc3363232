#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/json.h"

namespace sheaf::study {

/// Follows metrics.jsonl of a folder while a run writes it, and the ranks' own files. Reads only.
class LiveRun {
 public:
  explicit LiveRun(std::filesystem::path folder);

  /// Returns the lines from number `since` on of run number `run`, shortened to what the page
  /// shows, at most some thousand at a time: `lines`, `from`, `next` for the next call, `ranks`,
  /// and `run`, another number whenever the file has begun anew; its lines then come from the first
  /// on.
  [[nodiscard]] Json since(std::int64_t since, std::int64_t run);

 private:
  void begin_anew();
  [[nodiscard]] std::optional<std::string> rest_of(const std::filesystem::path& path) const;
  void read_more();
  void take_line(const std::string& text);
  [[nodiscard]] Json ranks() const;

  std::filesystem::path folder_;
  std::int64_t run_ = 0;
  std::uintmax_t read_ = 0;
  /// The last bytes of what was read.
  std::string last_read_;
  std::string open_line_;
  std::vector<Json> lines_;
};

}  // namespace sheaf::study
