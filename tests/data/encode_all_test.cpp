#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data {
namespace {

/// Refuses one text.
class Picky final : public Tokenizer {
 public:
  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const override {
    if (text == "bad") throw UsageError("this text is bad");
    return {static_cast<std::int64_t>(text.size())};
  }
  [[nodiscard]] std::string decode(std::span<const std::int64_t>) const override { return ""; }
  [[nodiscard]] std::int64_t vocabulary() const override { return 1; }
  [[nodiscard]] std::string_view name() const override { return "picky"; }
  [[nodiscard]] std::uint64_t hash() const override { return 0; }
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view) const override { return {}; }
};

TEST(EncodeAll, KeepsTheOrderOfTexts) {
  const auto tokenizer = open_tokenizer(SHEAF_GPT2);
  std::vector<std::string_view> texts;
  for (std::size_t at = 0; at < 200'000; at += 700) {
    texts.push_back(embedded_corpus().substr(at, at % 1300));
  }
  std::vector<std::vector<std::int64_t>> expected;
  for (const auto text : texts) expected.push_back(tokenizer->encode(text));
  for (const int threads : {0, 1, 2, 5})
    EXPECT_EQ(encode_all(*tokenizer, texts, threads), expected);
}

TEST(EncodeAll, TakesNoTexts) { EXPECT_TRUE(encode_all(Picky(), {}).empty()); }

TEST(EncodeAll, RethrowsWhatATextThrew) {
  std::vector<std::string_view> texts(100, "good");
  texts[42] = "bad";
  for (const int threads : {1, 4}) {
    EXPECT_THROW((void)encode_all(Picky(), texts, threads), UsageError);
  }
}

}  // namespace
}  // namespace sheaf::data
