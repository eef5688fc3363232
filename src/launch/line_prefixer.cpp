#include "launch/line_prefixer.h"

#include <algorithm>

namespace sheaf::launch {

void LinePrefixer::feed(std::string_view bytes, Lines& lines) {
  while (!bytes.empty()) {
    const auto size = std::min(bytes.find('\n'), bytes.size());
    const auto taken = std::min(size, kLongestPart - rest_.size());
    rest_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (!bytes.empty() && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      end_line(lines);
    } else if (rest_.size() == kLongestPart) {
      end_part(lines);
    }
  }
}

void LinePrefixer::finish(Lines& lines) {
  if (!rest_.empty() || inside_line_) end_line(lines);
}

void LinePrefixer::end_line(Lines& lines) {
  // A line whose last part was passed on has nothing left to show but its end in the log.
  if (!rest_.empty() || !inside_line_) lines.prefixed.append(prefix_).append(rest_).append("\n");
  lines.plain.append(rest_).append("\n");
  rest_.clear();
  inside_line_ = false;
}

void LinePrefixer::end_part(Lines& lines) {
  lines.prefixed.append(prefix_).append(rest_).append("\n");
  lines.plain.append(rest_);
  rest_.clear();
  inside_line_ = true;
}

}  // namespace sheaf::launch
