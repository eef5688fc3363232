#include "models/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/on_ranks.h"

namespace sheaf::models {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

using Logits = std::vector<double>;
using Tokens = std::vector<std::int64_t>;

constexpr double kNever = -INFINITY;

/// Logits of tokens with these probabilities.
Logits with_probabilities(std::vector<double> parts) {
  for (double& part : parts) part = std::log(part) + 3;
  return parts;
}

/// Returns the tokens that may be drawn.
Tokens left_by(Logits logits, const GenerateOptions& options) {
  narrow_down(logits, options);
  Tokens left;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != kNever) left.push_back(static_cast<std::int64_t>(i));
  }
  return left;
}

TEST(Sampling, PenalisesEachTokenOfTheTextOnce) {
  Logits logits{2, -2, 3, 0};
  penalize(logits, Tokens{0, 1, 1, 0, 9}, 2);
  EXPECT_THAT(logits, ElementsAre(1, -4, 3, 0));
}

TEST(Sampling, DividesByTheTemperature) {
  Logits logits{1, 2};
  narrow_down(logits, {.temperature = 0.5});
  EXPECT_THAT(logits, ElementsAre(2, 4));
}

TEST(Sampling, KeepsTheLikeliest) {
  EXPECT_THAT(left_by({1, 5, 3, 4}, {.top_k = 2}), ElementsAre(1, 3));
  EXPECT_THAT(left_by({1, 5, 3, 4}, {.top_k = 0}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(left_by({1, 5, 3, 4}, {.top_k = 100}), ElementsAre(0, 1, 2, 3));
}

TEST(Sampling, KeepsEqualsOfTheLastOneOfTheTop) {
  EXPECT_THAT(left_by({4, 5, 4, 1}, {.top_k = 2}), ElementsAre(0, 1, 2));
}

TEST(Sampling, KeepsTheLikeliestThatHaveTheProbability) {
  const Logits logits = with_probabilities({0.1, 0.4, 0.2, 0.3});
  EXPECT_THAT(left_by(logits, {.top_p = 0.65}), ElementsAre(1, 3));
  EXPECT_THAT(left_by(logits, {.top_p = 0.75}), ElementsAre(1, 2, 3));
  EXPECT_THAT(left_by(logits, {.top_p = 0.3}), ElementsAre(1));
  EXPECT_THAT(left_by(logits, {.top_p = 0}), ElementsAre(1));
  EXPECT_THAT(left_by(logits, {.top_p = 1}), ElementsAre(0, 1, 2, 3));
}

// Of the three that top_k leaves, 0.4 and 0.3 are 7/9 of the probability.
TEST(Sampling, TakesTheProbabilityOfWhatTopKHasLeft) {
  const Logits logits = with_probabilities({0.1, 0.4, 0.2, 0.3});
  EXPECT_THAT(left_by(logits, {.top_k = 3, .top_p = 0.76}), ElementsAre(1, 3));
  EXPECT_THAT(left_by(logits, {.top_p = 0.76}), ElementsAre(1, 2, 3));
}

TEST(Sampling, TakesTheLowestOfEqualsWhenGreedy) {
  EXPECT_EQ(likeliest(Logits{1, 4, 4, kNever}), 1);
}

TEST(Sampling, GivesEachTokenItsPartOfTheRange) {
  const Logits logits{0, kNever, std::log(3.0)};
  EXPECT_EQ(token_at(logits, 0), 0);
  EXPECT_EQ(token_at(logits, 0.2499), 0);
  EXPECT_EQ(token_at(logits, 0.2501), 2);
  EXPECT_EQ(token_at(logits, std::nextafter(1.0, 0.0)), 2);
}

TEST(Sampling, NeverTakesATokenThatIsRuledOut) {
  EXPECT_EQ(token_at(Logits{kNever, 0, kNever}, 0), 1);
  EXPECT_EQ(token_at(Logits{kNever, 0, kNever}, std::nextafter(1.0, 0.0)), 1);
}

TEST(Sampling, RefusesOptionsThatCannotBe) {
  const auto error_with = [](const GenerateOptions& options) {
    return error_of([&] { check_sampling(options); });
  };
  EXPECT_THAT(error_with({.temperature = NAN}), HasSubstr("temperature must be at least 0"));
  EXPECT_THAT(error_with({.top_k = -1}), HasSubstr("top_k must be at least 0, got -1"));
  EXPECT_THAT(error_with({.top_p = 1.5}), HasSubstr("top_p must be between 0 and 1, got 1.5"));
  EXPECT_THAT(error_with({.top_p = NAN}), HasSubstr("top_p"));
  EXPECT_THAT(error_with({.repetition_penalty = 0}), HasSubstr("above 0 and finite, got 0"));
  EXPECT_NO_THROW(check_sampling({}));
}

}  // namespace
}  // namespace sheaf::models
