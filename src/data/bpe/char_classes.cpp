#include "data/bpe/char_classes.h"

#include <string>

#include "data/bpe/code_points.h"
#include "data/bpe/pattern.h"

namespace sheaf::data::bpe {
namespace {

constexpr char32_t kCharacters = 0x110000;
constexpr char32_t kFirstSurrogate = 0xd800;
constexpr char32_t kAfterSurrogates = 0xe000;

void append(std::string& text, char32_t c) {
  const auto byte = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
  const auto tail = [&](int shift) { byte(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | c >> 6);
    return tail(0);
  }
  if (c < 0x10000) {
    byte(0xe0 | c >> 12);
  } else {
    byte(0xf0 | c >> 18);
    tail(12);
  }
  tail(6);
  tail(0);
}

std::string every_character() {
  std::string text;
  text.reserve(std::size_t{4} * kCharacters);
  for (char32_t c = 0; c < kFirstSurrogate; ++c) append(text, c);
  for (char32_t c = kAfterSurrogates; c < kCharacters; ++c) append(text, c);
  return text;
}

/// Calls `found` with each character of `text` that the expression matches.
template <class Found>
void for_each_match(const std::string& text, const char* expression, const Found& found) {
  const Pattern pattern(expression);
  Pattern::Search search(pattern);
  std::size_t at = 0;
  while (const auto match = search.find(text, at)) {
    for (at = match->begin; at < match->end;) {
      const CodePoint point = known_code_point(text.data() + at);
      found(point.value);
      at += point.size;
    }
  }
}

}  // namespace

CharClasses::CharClasses() : classes_(kCharacters, CharClass::other) {
  const std::string text = every_character();
  const auto mark = [&](const char* expression, CharClass of_class) {
    for_each_match(text, expression, [&](char32_t c) { classes_[c] = of_class; });
  };
  mark(R"(\p{L}+)", CharClass::letter);
  mark(R"(\p{N}+)", CharClass::number);
  mark(R"(\s+)", CharClass::space);
}

const CharClasses& CharClasses::table() {
  static const CharClasses kTable;
  return kTable;
}

}  // namespace sheaf::data::bpe
