#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sheaf::launch {

/// Lines as the terminal and as the log file get them.
struct Lines {
  std::string prefixed;
  std::string plain;
};

/// Cuts a stream of bytes into whole lines and puts a prefix before each.
class LinePrefixer {
 public:
  /// What is longer than this without a line end is passed on in parts, each a prefixed line.
  static constexpr std::size_t kLongestPart = 64 * 1024;

  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Appends the lines that `bytes` completes and keeps the rest.
  void feed(std::string_view bytes, Lines& lines);
  /// Appends what was kept, completed by a line end.
  void finish(Lines& lines);

 private:
  void end_line(Lines& lines);
  void end_part(Lines& lines);

  std::string prefix_;
  std::string rest_;
  bool inside_line_ = false;  // parts of the current line were passed on already
};

}  // namespace sheaf::launch
