#include "data/bpe/scanners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/bpe/code_points.h"
#include "data/bpe/pattern.h"
#include "support/tokenizer_texts.h"

namespace sheaf::data::bpe {
namespace {

using sheaf::testing::difficult_texts;
using sheaf::testing::random_text;
using ::testing::ElementsAre;

std::vector<std::string> scanned(std::string_view expression, std::string_view text) {
  const auto scanner = scanner_for(expression);
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t size = scanner->word_at(text.data(), text.data() + text.size());
    words.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

std::vector<std::string> matched(std::string_view expression, std::string_view text) {
  const Pattern pattern{std::string(expression)};
  Pattern::Search search(pattern);
  std::vector<std::string> words;
  std::size_t from = 0;
  while (const auto match = search.find(text, from)) {
    EXPECT_EQ(match->begin, from) << "the pattern passes over something";
    words.emplace_back(text.substr(match->begin, match->end - match->begin));
    from = match->end;
  }
  return words;
}

class Scanners : public ::testing::TestWithParam<std::string_view> {};
const auto kName = [](const auto& info) {
  return std::vector<std::string>{"Gpt2", "Llama3", "Qwen2", "Cl100k"}.at(info.index);
};
INSTANTIATE_TEST_SUITE_P(
    Patterns,
    Scanners,
    ::testing::Values(kGpt2Pattern, kLlama3Pattern, kQwen2Pattern, kCl100kPattern),
    kName);

TEST_P(Scanners, SplitRandomTextAsTheirExpressionsDo) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const std::string text = random_text(seed, 100);
    ASSERT_EQ(scanned(GetParam(), text), matched(GetParam(), text)) << "seed " << seed;
  }
}

TEST_P(Scanners, SplitDifficultTextAsTheirExpressionsDo) {
  for (const auto& [name, text] : difficult_texts()) {
    if (valid_prefix(text) != text.size()) continue;
    ASSERT_EQ(scanned(GetParam(), text), matched(GetParam(), text)) << name;
  }
}

TEST_P(Scanners, SplitEveryCharacterAsTheirExpressionsDo) {
  for (char32_t first = 0; first < 0x20000; first += 0x80) {
    std::string text;
    for (char32_t c = first; c < first + 0x80; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      const std::string one = sheaf::testing::as_utf8(c);
      text += "a" + one + "a 1" + one + "1 !" + one + "! " + one + one + "\n'" + one;
    }
    ASSERT_EQ(scanned(GetParam(), text), matched(GetParam(), text))
        << "from " << std::uint32_t{first};
  }
}

TEST(Scanner, SplitsAsGpt2Does) {
  EXPECT_THAT(scanned(kGpt2Pattern, "I'm  here,\n\n12345 'll"),
              ElementsAre("I", "'m", " ", " here", ",", "\n", "\n", "12345", " '", "ll"));
}

TEST(Scanner, SplitsAsLlama3Does) {
  EXPECT_THAT(scanned(kLlama3Pattern, "I'M  here,\n\n12345(x) \n y"),
              ElementsAre("I", "'M", " ", " here", ",\n\n", "123", "45", "(x", ")", " \n", " y"));
}

TEST(Scanner, IsKnownForItsExpressionOnly) {
  EXPECT_FALSE(scanner_for(R"(\p{L}+)").has_value());
  EXPECT_FALSE(scanner_for(std::string(kGpt2Pattern) + "|x").has_value());
}

}  // namespace
}  // namespace sheaf::data::bpe
