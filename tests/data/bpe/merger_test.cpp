#include "data/bpe/merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace sheaf::data::bpe {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<std::uint32_t>;

/// The rule as it is written: the smallest rank first, the leftmost of equal ones.
Tokens merged_slowly(const std::vector<Merge>& merges, Tokens tokens) {
  while (true) {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
      for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const bool applies =
            merges[rank].left == tokens[at] && merges[rank].right == tokens[at + 1];
        if (applies && (!best || rank < best->first)) best = {rank, at};
      }
    }
    if (!best) return tokens;
    tokens[best->second] = merges[best->first].result;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best->second) + 1);
  }
}

Tokens merged(const std::vector<Merge>& merges, Tokens tokens) {
  const PairTable pairs(merges);
  Merger(pairs).merge(tokens);
  return tokens;
}

std::vector<Merge> random_merges(std::mt19937& random, std::uint32_t letters, std::uint32_t count) {
  std::vector<Merge> merges;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t known = letters + i;
    const Merge merge{static_cast<std::uint32_t>(random() % known),
                      static_cast<std::uint32_t>(random() % known),
                      known};
    const bool is_new = std::none_of(merges.begin(), merges.end(), [&](const Merge& each) {
      return each.left == merge.left && each.right == merge.right;
    });
    if (is_new) merges.push_back(merge);
  }
  return merges;
}

TEST(Merger, TakesTheSmallestRankAndTheLeftmost) {
  EXPECT_THAT(merged({{1, 1, 2}}, {1, 1, 1}), ElementsAre(2, 1));
  EXPECT_THAT(merged({{1, 2, 9}, {0, 1, 8}}, {0, 1, 2}), ElementsAre(0, 9));
  EXPECT_THAT(merged({{0, 1, 8}, {8, 8, 9}}, {0, 1, 0, 1, 0}), ElementsAre(9, 0));
}

TEST(Merger, DoesWhatTheRuleSaysToWordsOfAnyLength) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto merges = random_merges(random, 4, 12);
    Tokens tokens(random() % 120);
    for (auto& token : tokens) token = static_cast<std::uint32_t>(random() % 4);
    ASSERT_EQ(merged(merges, tokens), merged_slowly(merges, tokens)) << "round " << round;
  }
}

TEST(Merger, KeepsNothingOfTheWordBefore) {
  const PairTable pairs(std::vector<Merge>{{0, 1, 2}});
  Merger merger(pairs);
  for (const std::size_t size : {200U, 3U, 100U, 1U, 0U}) {
    Tokens tokens(size);
    for (std::size_t i = 0; i < size; ++i) tokens[i] = i % 2;
    merger.merge(tokens);
    EXPECT_EQ(tokens.size(), (size + 1) / 2);
  }
}

TEST(Merger, JoinsAMillionTokens) {
  std::vector<Merge> doubling;
  for (std::uint32_t i = 0; i < 20; ++i) doubling.push_back({i, i, i + 1});
  EXPECT_THAT(merged(doubling, Tokens(1 << 20, 0)), ElementsAre(20));
}

}  // namespace
}  // namespace sheaf::data::bpe
