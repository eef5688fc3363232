#include "data/bpe/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::data::bpe {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> matches(const std::string& expression, const std::string& text) {
  const Pattern pattern(expression);
  Pattern::Search search(pattern);
  std::vector<std::string> found;
  std::size_t from = 0;
  while (const auto match = search.find(text, from)) {
    found.push_back(text.substr(match->begin, match->end - match->begin));
    from = match->end;
  }
  return found;
}

TEST(Pattern, FindsWhatFollowsOneAnother) {
  EXPECT_THAT(matches(R"(\p{L}+|\p{N}+)", "ab 12\u00e9\u4f60!"),
              ElementsAre("ab", "12", "\u00e9\u4f60"));
}

TEST(Pattern, PassesOverEmptyMatches) {
  EXPECT_THAT(matches("a*", "\u00e9aab\u4f60a"), ElementsAre("aa", "a"));
  EXPECT_THAT(matches("(?=x)", "xx"), IsEmpty());
}

TEST(Pattern, TakesUnicodesWhiteSpaceForSpaces) {
  EXPECT_THAT(matches(R"(\s)", "\u0085\u00a0\u2003\u3000"), ::testing::SizeIs(4));
  EXPECT_THAT(matches(R"(\s|[\s])", "\u180e\u200b\u001c"), IsEmpty());
  EXPECT_THAT(matches(R"([^\s]+)", "a\u180e b"), ElementsAre("a\u180e", "b"));
  EXPECT_THAT(matches(R"([\s\S])", "a \u3000"), ::testing::SizeIs(3));
}

TEST(Pattern, ReadsOnigurumasHexDigits) {
  EXPECT_THAT(matches(R"(\h+|[\hx]+)", "fF0 xg"), ElementsAre("fF0", "x"));
}

TEST(Pattern, KeepsBracketsThatComeFirst) {
  EXPECT_THAT(matches("[]a]+", "x]a]"), ElementsAre("]a]"));
  EXPECT_THAT(matches("[^]a]+", "xy]a"), ElementsAre("xy"));
  EXPECT_THAT(matches(R"([\[\]]+)", "a[]"), ElementsAre("[]"));
  EXPECT_THAT(matches("[[:alpha:]1]+", "ab1-2"), ElementsAre("ab1"));
}

TEST(Pattern, RefusesWhatItCannotDo) {
  const auto refused = [](const std::string& expression) {
    return error_of([&] { const Pattern pattern(expression); });
  };
  EXPECT_THAT(refused("(a"), HasSubstr("cannot be read"));
  EXPECT_THAT(refused("[a&&b]"), HasSubstr("&& in brackets"));
  EXPECT_THAT(refused("[a[bc]]"), HasSubstr("brackets in brackets"));
  EXPECT_THAT(refused(R"(a\Kb)"), HasSubstr(R"(\K)"));
  EXPECT_THAT(refused("[ab"), HasSubstr("without its ]"));
  EXPECT_THAT(refused("a\\"), HasSubstr("backslash at its end"));
}

TEST(Pattern, EndsExpressionsThatTryEverything) {
  EXPECT_THAT(error_of([] { (void)matches("(a+)+$", std::string(64, 'a') + "b"); }),
              HasSubstr("cannot be applied"));
}

}  // namespace
}  // namespace sheaf::data::bpe
