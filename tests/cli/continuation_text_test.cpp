#include "cli/generate/continuation_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "sheaf/data/byte_tokenizer.h"

namespace sheaf::cli {
namespace {

using Stops = std::vector<std::string>;

/// A continuation whose tokens are bytes.
ContinuationText text_with(Stops stops) {
  const auto tokenizer = std::make_shared<data::ByteTokenizer>();
  return {tokenizer, tokenizer->encode("the prompt"), std::move(stops)};
}

/// Gives it bytes until it stops, and returns what was shown in all.
std::string shown(ContinuationText& text, std::string_view bytes) {
  std::string all;
  for (const char byte : bytes) {
    const bool goes_on = text.add(static_cast<unsigned char>(byte));
    const std::string part = text.take();
    EXPECT_TRUE(is_utf8(part)) << "a character was cut";
    all += part;
    if (!goes_on) break;
  }
  return all + text.take_rest();
}

TEST(ContinuationText, ShowsWholeCharactersOnly) {
  ContinuationText text = text_with({});
  EXPECT_EQ(shown(text, "caf\u00e9 \u4f60\u597d \U0001F600!"),
            "caf\u00e9 \u4f60\u597d \U0001F600!");
}

TEST(ContinuationText, ShowsACharacterThatIsNeverFinishedAtTheEnd) {
  ContinuationText text = text_with({});
  EXPECT_EQ(shown(text, "a\xe4\xbd"), "a\xe4\xbd");
}

TEST(ContinuationText, EndsBeforeAStop) {
  ContinuationText text = text_with({"\nUser:", "END"});
  EXPECT_EQ(shown(text, "hello\nUse it\nUser: more"), "hello\nUse it");
  EXPECT_EQ(text.text(), "hello\nUse it");
}

TEST(ContinuationText, HoldsBackWhatMayBecomeAStop) {
  ContinuationText text = text_with({"abab"});
  for (const char byte : std::string("xaba")) {
    EXPECT_TRUE(text.add(static_cast<unsigned char>(byte)));
  }
  EXPECT_EQ(text.take(), "x");
  EXPECT_TRUE(text.add('c'));
  EXPECT_EQ(text.take(), "abac");
}

TEST(ContinuationText, TakesTheFirstOfSeveralStops) {
  ContinuationText text = text_with({"cd", "bc"});
  EXPECT_EQ(shown(text, "abcd"), "a");
}

TEST(ContinuationText, StaysTheSameOverALongText) {
  std::string whole;
  for (int i = 0; i < 300; ++i) whole += "\u4f60" + std::to_string(i);
  ContinuationText text = text_with({"stop"});
  EXPECT_EQ(shown(text, whole + "stop" + whole), whole);
}

}  // namespace
}  // namespace sheaf::cli
