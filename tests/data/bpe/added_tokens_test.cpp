#include "data/bpe/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::data::bpe {
namespace {

using ::testing::ElementsAre;

/// Returns the sections of a text, those of tokens in brackets.
std::vector<std::string> sections(const std::vector<AddedToken>& tokens, std::string_view text) {
  std::vector<std::string> texts;
  for (const AddedToken& token : tokens) texts.push_back(token.text);
  const AddedTokenFinder finder(tokens, texts);
  std::vector<Section> found;
  finder.split(text, found);
  std::vector<std::string> result;
  for (const Section& section : found) {
    const std::string part(section.text);
    result.push_back(section.token ? "[" + part + "]" : part);
  }
  return result;
}

TEST(AddedTokens, AreTakenOutFromLeftToRight) {
  EXPECT_THAT(sections({{.text = "<s>"}}, "a<s><s> b <s"),
              ElementsAre("a", "[<s>]", "[<s>]", " b <s"));
  EXPECT_THAT(sections({{.text = "<s>"}}, ""), ::testing::IsEmpty());
}

TEST(AddedTokens, TheLongestWinsAtEachPlace) {
  EXPECT_THAT(sections({{.text = "ab"}, {.text = "abcd"}, {.text = "bcdef"}}, "abcdef abc"),
              ElementsAre("[abcd]", "ef ", "[ab]", "c"));
}

TEST(AddedTokens, MayStandAloneOnly) {
  EXPECT_THAT(sections({{.text = "or", .single_word = true}}, "or for or\u00e9 (or) or_ 1or or"),
              ElementsAre("[or]", " for or\u00e9 (", "[or]", ") or_ 1or ", "[or]"));
}

TEST(AddedTokens, MayTakeSpacesAlong) {
  EXPECT_THAT(sections({{.text = "x", .takes_left = true}}, "a \t\u3000x b"),
              ElementsAre("a", "[ \t\u3000x]", " b"));
  EXPECT_THAT(sections({{.text = "x", .takes_right = true}}, "a x \n b"),
              ElementsAre("a ", "[x \n ]", "b"));
  EXPECT_THAT(sections({{.text = "x", .takes_left = true, .takes_right = true}}, "x  x"),
              ElementsAre("[x  ]", "[x]"));
}

TEST(AddedTokens, AreNotMadeOfSpacesThatTheOneBeforeTook) {
  EXPECT_THAT(sections({{.text = "  ", .takes_left = true, .takes_right = true}}, "a     b"),
              ElementsAre("a", "[     ]", "b"));
}

TEST(AddedTokens, AreFoundBesideBrokenUtf8) {
  EXPECT_THAT(sections({{.text = "<s>", .single_word = true, .takes_left = true}}, "\xff<s>\x80"),
              ElementsAre("\xff", "[<s>]", "\x80"));
}

TEST(AddedTokens, MayBeginWithDifferentBytes) {
  EXPECT_THAT(sections({{.text = "<s>"}, {.text = "\u00e9"}, {.text = "  "}}, "a   <s>\u00e9"),
              ElementsAre("a", "[  ]", " ", "[<s>]", "[\u00e9]"));
}

}  // namespace
}  // namespace sheaf::data::bpe
