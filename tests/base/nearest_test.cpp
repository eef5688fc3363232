#include "sheaf/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf {
namespace {

const std::vector<std::string> kKnown = {"ranks", "mesh.shard", "mesh.replicate", "shard.stage"};

TEST(Nearest, FindsAnotherLetterAMissingLetterAndASwap) {
  EXPECT_EQ(nearest("renks", kKnown), "ranks");
  EXPECT_EQ(nearest("rank", kKnown), "ranks");
  EXPECT_EQ(nearest("mesh.shrad", kKnown), "mesh.shard");
}

TEST(Nearest, FindsAKeyInAnotherSection) {
  EXPECT_EQ(nearest("replicate", kKnown), "mesh.replicate");
  EXPECT_EQ(nearest("train.stage", kKnown), "shard.stage");
}

TEST(Nearest, PrefersTheClosest) {
  const std::vector<std::string> candidates = {"stale", "state", "stage"};
  EXPECT_EQ(nearest("stag", candidates), "stage");
}

TEST(Nearest, TakesTheFirstOfEquallyClose) {
  const std::vector<std::string> candidates = {"state", "stage"};
  EXPECT_EQ(nearest("stave", candidates), "state");
}

TEST(Nearest, FindsNothingWhenAllAreFar) {
  EXPECT_EQ(nearest("temperature", kKnown), std::nullopt);
  EXPECT_EQ(nearest("", kKnown), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'r'), kKnown), std::nullopt);
}

TEST(JoinOr, ReadsLikeASentence) {
  EXPECT_EQ(join_or({}), "");
  EXPECT_EQ(join_or(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join_or(std::vector<std::string>{"a", "b"}), "a or b");
  EXPECT_EQ(join_or(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace sheaf
