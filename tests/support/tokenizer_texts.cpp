#include "support/tokenizer_texts.h"

#include <array>
#include <random>

namespace sheaf::testing {
namespace {

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

// A long word that does not repeat itself soon.
std::string long_word(std::size_t size) {
  std::mt19937 random(7);
  std::string word;
  while (word.size() < size) word.push_back(static_cast<char>('a' + random() % 26));
  return word;
}

constexpr const char* kCode = R"(#include <vector>
template <class T>
int main(int argc, char** argv) {
	std::vector<T> v{1, 2, 3};   // trailing   
	for (auto&& x : v) { printf("%d\n", x << 2); }
    return argc == 2 ? 0xFF : -1'000'000;
}

def f(x):
        return {"a": [x**2 for _ in range(10)], 'b': f"{x!r:>10}"}


)";

}  // namespace

std::string as_utf8(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) { return byte(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), tail(0)};
  if (c < 0x10000) return {byte(0xe0 | c >> 12), tail(6), tail(0)};
  return {byte(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

std::vector<std::pair<std::string, std::string>> difficult_texts() {
  return {
      {"Empty", ""},
      {"OneSpace", " "},
      {"Plain", "Hello world, it's 2026 and we're fine. They'll say I'd've known."},
      {"Capitals", "IT'S WE'RE THEY'LL 'S 'T 'M 'D 'VE '\u017f x'\u017f"},
      {"Apostrophes", "'s 't''s'''re 'vex'llama 'd'd  's\n'm"},
      {"Numbers", "1 12 123 1234 12345 0.001 1,000,000 \u0661\u0662\u0663 \u2167 \u00bd x2\u00b2"},
      {"Emoji",
       "\U0001F600\U0001F468\u200D\U0001F469\u200D\U0001F467 \U0001F1E9\U0001F1EA\u2764\uFE0F "
       "ok\U0001F44D\U0001F3FD!"},
      {"CombiningMarks",
       "e\u0301 a\u0308\u0323 n\u0303o \u0915\u094D\u0937\u093F \u0E01\u0E33 "
       "\u05E9\u05C1\u05DC\u05D5\u05DD Z\u0351\u036B\u0343a\u0362lgo"},
      {"ComposedAndNot",
       "\u00C5 A\u030A \u212B \uAC00 \u1100\u1161 \u1E9B\u0323 \uFB01 \u2460 \uFF21"},
      {"Chinese", "\u4F60\u597D\uFF0C\u4E16\u754C\uFF01\u8FD9\u662F\u4E00\u4E2A\u6D4B\u8BD5\u3002"},
      {"Japanese",
       "\u3053\u3093\u306B\u3061\u306F\u30C6\u30B9\u30C8 "
       "\u65E5\u672C\u8A9E\u3067\u3059\u3002\u3000\u5168\u89D2"},
      {"Korean", "\uC548\uB155\uD558\uC138\uC694 \uC138\uACC4"},
      {"Cyrillic",
       "\u041F\u0440\u0438\u0432\u0435\u0442, \u043C\u0438\u0440! \u0401\u043B\u043A\u0430 \u2014 "
       "\u00ABда\u00BB"},
      {"Arabic",
       "\u0645\u0631\u062D\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u061F"},
      {"Spaces",
       "a  b   c \t d\t\te \n f\n\n\ng \r\n h\u00A0i\u2003j\u3000k\u0085l\u2028m\u180En\u200Bo  "},
      {"SpacesAtEnd", "end   "},
      {"Newlines", "\n\n \n  \n\t\nx\r\r\n\r\n  y  \n\n"},
      {"SymbolsAndNewlines", "...\n\n---\r\n!?\n $$$\n\nx ==\n"},
      {"Controls", std::string("a\0b\x01\x1f\x7f c\x0b\x0c d", 11)},
      {"Code", kCode},
      {"Special",
       "one<|endoftext|>two <|endoftext|> <|endoftext|><|endoftext|> <|endoftex|> <|begin|>x"},
      {"HugeSymbols", "\U0010FFFF\U000E0001\uE000\uFFFD\uFFFE"},
      {"BrokenUtf8", "ok \x80\xff\xc3( \xe2\x82 x\xf0\x9f\x98 \xed\xa0\x80 \xc0\xaf end\xe4"},
      {"TenThousandSpaces", repeated(" ", 10'000)},
      {"TenThousandSpacesAndAWord", repeated(" ", 10'000) + "word" + repeated("\n", 5000) + "x"},
      {"MegabyteOfOneLetter", repeated("a", 1 << 20)},
      {"MegabyteWithoutASpace", long_word(1 << 20)},
      {"ManySymbols", repeated("=-", 50'000)},
      {"ManyDigits", repeated("7", 100'000)},
  };
}

std::string random_text(unsigned seed, std::size_t characters) {
  // Ranges of characters that have long been in Unicode, so that libraries agree on them.
  constexpr std::array<std::pair<char32_t, char32_t>, 16> kRanges{{{0x20, 0x7e},
                                                                   {0x20, 0x7e},
                                                                   {'a', 'z'},
                                                                   {'0', '9'},
                                                                   {'\t', '\r'},
                                                                   {' ', ' '},
                                                                   {'\'', '\''},
                                                                   {0xa0, 0x17f},
                                                                   {0x300, 0x36f},
                                                                   {0x400, 0x44f},
                                                                   {0x5d0, 0x5ea},
                                                                   {0x905, 0x939},
                                                                   {0x2000, 0x206f},
                                                                   {0x2150, 0x218b},
                                                                   {0x4e00, 0x9fa5},
                                                                   {0x1f600, 0x1f64f}}};
  constexpr std::array<std::string_view, 8> kPhrases{
      "'s", "'LL", " the", "\r\n", "  ", "<|endoftext|>", "don't", " 1234"};
  std::mt19937 random(seed);
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) {
    if (random() % 8 == 0) {
      text += kPhrases.at(random() % kPhrases.size());
      continue;
    }
    const auto [first, last] = kRanges.at(random() % kRanges.size());
    text += as_utf8(first + static_cast<char32_t>(random() % (last - first + 1)));
  }
  return text;
}

}  // namespace sheaf::testing
