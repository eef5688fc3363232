#include "data/bpe/scanners.h"

#include <array>

#include "data/bpe/char_classes.h"
#include "data/bpe/code_points.h"

namespace sheaf::data::bpe {
namespace {

constexpr std::array<CharClass, 128> ascii_classes() {
  std::array<CharClass, 128> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = CharClass::letter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = CharClass::letter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = CharClass::number;
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) classes[c] = CharClass::space;
  return classes;
}
constexpr auto kAscii = ascii_classes();

struct Character {
  CharClass of_class;
  std::size_t size;
};

inline Character character_at(const char* at) {
  const auto byte = static_cast<unsigned char>(*at);
  if (byte < kAscii.size()) [[likely]]
    return {kAscii[byte], 1};
  const CodePoint point = known_code_point(at);
  return {CharClasses::table().of(point.value), point.size};
}

/// Returns the end of the characters of one class that begin at `at`.
inline const char* skip(const char* at, const char* end, CharClass of_class) {
  while (at < end) {
    const Character next = character_at(at);
    if (next.of_class != of_class) break;
    at += next.size;
  }
  return at;
}

inline bool is_newline(char c) { return c == '\n' || c == '\r'; }

/// What follows the apostrophe in 's 't 're 've 'm 'll 'd: its length, 0 if it is none of them.
std::size_t contraction(std::string_view rest) {
  if (rest.empty()) return 0;
  if (std::string_view("stmd").find(rest.front()) != std::string_view::npos) return 1;
  const auto two = rest.substr(0, 2);
  return two == "re" || two == "ve" || two == "ll" ? 2 : 0;
}

/// The same in any case. The long s (U+017F) is another case of s.
std::size_t caseless_contraction(std::string_view rest) {
  constexpr std::string_view kLongS = "\xc5\xbf";
  if (rest.starts_with(kLongS)) return kLongS.size();
  std::array<char, 2> lower{};
  const std::size_t size = std::min(rest.size(), lower.size());
  for (std::size_t i = 0; i < size; ++i) {
    lower.at(i) = rest[i] >= 'A' && rest[i] <= 'Z' ? static_cast<char>(rest[i] + 32) : rest[i];
  }
  return contraction({lower.data(), size});
}

/// \s+(?!\S)|\s+ over the spaces [begin, after): all but the last, which goes with what follows.
std::size_t spaces_before_word(const char* begin, const char* after, const char* end) {
  if (after == end) return static_cast<std::size_t>(after - begin);
  const char* last = after - 1;
  while (continues_character(*last)) --last;
  return static_cast<std::size_t>((last > begin ? last : after) - begin);
}

std::size_t gpt2_word(const char* begin, const char* end) {
  if (*begin == '\'') {
    const std::size_t more = contraction({begin + 1, end});
    if (more > 0) return 1 + more;
  }
  const char* first = *begin == ' ' && begin + 1 < end ? begin + 1 : begin;
  const Character character = character_at(first);
  if (character.of_class != CharClass::space) {
    return static_cast<std::size_t>(skip(first + character.size, end, character.of_class) - begin);
  }
  return spaces_before_word(begin, skip(begin, end, CharClass::space), end);
}

std::size_t up_to_digits(const char* begin, const char* end, int most) {
  const char* at = begin;
  for (int i = 0; i < most && at < end; ++i) {
    const Character next = character_at(at);
    if (next.of_class != CharClass::number) break;
    at += next.size;
  }
  return static_cast<std::size_t>(at - begin);
}

std::size_t spaces_or_newlines(const char* begin, const char* end) {
  const char* after = skip(begin, end, CharClass::space);
  for (const char* last = after; last > begin; --last) {
    if (is_newline(last[-1])) return static_cast<std::size_t>(last - begin);
  }
  return spaces_before_word(begin, after, end);
}

std::size_t symbols_and_newlines(const char* begin, const char* first, const char* end) {
  const char* after = skip(first, end, CharClass::other);
  while (after < end && is_newline(*after)) ++after;
  return static_cast<std::size_t>(after - begin);
}

template <int kMostDigits>
std::size_t llama3_word(const char* begin, const char* end) {
  if (*begin == '\'') {
    const std::size_t more = caseless_contraction({begin + 1, end});
    if (more > 0) return 1 + more;
  }
  const Character first = character_at(begin);
  if (first.of_class == CharClass::number) return up_to_digits(begin, end, kMostDigits);
  const char* second = begin + first.size;
  if (first.of_class == CharClass::letter) {
    return static_cast<std::size_t>(skip(second, end, CharClass::letter) - begin);
  }
  if (second < end && !is_newline(*begin)) {
    const Character next = character_at(second);
    if (next.of_class == CharClass::letter) {
      return static_cast<std::size_t>(skip(second + next.size, end, CharClass::letter) - begin);
    }
    if (*begin == ' ' && next.of_class == CharClass::other) {
      return symbols_and_newlines(begin, second, end);
    }
  }
  if (first.of_class == CharClass::other) return symbols_and_newlines(begin, begin, end);
  return spaces_or_newlines(begin, end);
}

}  // namespace

std::optional<Scanner> scanner_for(std::string_view expression) {
  if (expression == kGpt2Pattern) return Scanner{gpt2_word};
  if (expression == kLlama3Pattern || expression == kCl100kPattern) return Scanner{llama3_word<3>};
  if (expression == kQwen2Pattern) return Scanner{llama3_word<1>};
  return std::nullopt;
}

}  // namespace sheaf::data::bpe
