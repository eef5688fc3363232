#include "base/quoting.h"

#include <fmt/format.h>

namespace sheaf {

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\u{:04X}", code);
    } else {
      if (special.find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() <= kLongest) return "'" + escaped(text) + "'";
  std::size_t end = kLongest;
  // Bytes 10xxxxxx continue a UTF-8 character, which must not be cut in two.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return "'" + escaped(text.substr(0, end)) + "...'";
}

}  // namespace sheaf
