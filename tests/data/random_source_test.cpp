#include "data/random_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::data {
namespace {

std::vector<std::int64_t> read(const RandomSource& source, std::int64_t begin, std::int64_t count) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
  source.read(begin, count, tokens.data());
  return tokens;
}

TEST(RandomSource, GivesTheSameTokenWhereverReadingBegins) {
  const RandomSource source(1'000'000'000'000, 50'000, 3);
  const auto whole = read(source, 999'999'999'000, 1000);
  EXPECT_EQ(read(source, 999'999'999'500, 500), std::vector(whole.begin() + 500, whole.end()));
}

TEST(RandomSource, GivesOtherTokensForAnotherSeed) {
  EXPECT_NE(read(RandomSource(100, 1000, 1), 0, 100), read(RandomSource(100, 1000, 2), 0, 100));
}

TEST(RandomSource, UsesTheWholeVocabularyEvenly) {
  std::vector<int> seen(7);
  for (const auto token : read(RandomSource(70'000, 7, 5), 0, 70'000)) {
    ++seen.at(static_cast<std::size_t>(token));
  }
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);  // five standard deviations
}

}  // namespace
}  // namespace sheaf::data
