#include "train/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace sheaf::train {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Takes one character, or one byte that belongs to none, off the front of `text`.
std::string_view take_character(std::string_view& text) {
  constexpr std::size_t kLongest = 4;
  std::size_t size = 1;
  while (size <= kLongest && !is_utf8(text.substr(0, size))) ++size;
  if (size > kLongest) size = 1;
  const auto character = text.substr(0, size);
  text.remove_prefix(size);
  return character;
}

void append_printable(std::string& line, std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  const bool is_control = first < 0x20 || first == 0x7f;
  // U+0080 to U+009F are control characters too.
  const bool is_late_control =
      character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  if (character == "\t") {
    line += "    ";
  } else if (is_control) {
    line += fmt::format("\\u{:04X}", first);
  } else if (is_late_control) {
    line += fmt::format("\\u{:04X}", static_cast<unsigned char>(character[1]));
  } else if (character.size() == 1 && first >= 0x80) {
    line += fmt::format("\\x{:02X}", first);
  } else {
    line += character;
  }
}

}  // namespace

std::string printable_lines(std::string_view text, std::string_view indent) {
  std::string lines(indent);
  while (!text.empty()) {
    const auto character = take_character(text);
    if (character != "\n") {
      append_printable(lines, character);
    } else if (!text.empty()) {
      lines.append("\n").append(indent);
    }
  }
  return lines + "\n";
}

std::string printable_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto character = take_character(text);
    if (character == "\n" || character == "\t") {
      result += character;
    } else {
      append_printable(result, character);
    }
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size(); ++end) {
    if (continues(text[end])) continue;
    if (used == columns) break;
    ++used;
  }
  return std::string(text.substr(0, end));
}

}  // namespace sheaf::train
