// What holds for every language model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "support/on_ranks.h"
#include "support/preset_name.h"

namespace sheaf::models {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::logits_of;
using testing::loss_of;
using testing::random_texts;
using testing::seeded_model;

constexpr std::int64_t kVocabulary = 256;

class LanguageModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<Model> model_ = seeded_model({.preset = GetParam(), .context = 24});
};
INSTANTIATE_TEST_SUITE_P(Presets,
                         LanguageModel,
                         ::testing::Values("gpt2-tiny", "smollm3-tiny", "llama-tiny"),
                         sheaf::testing::preset_name);

TEST_P(LanguageModel, StartsWithTheLossOfAGuess) {
  const at::Tensor texts = random_texts({4, 24}, kVocabulary);
  EXPECT_NEAR(loss_of(*model_, texts).item<double>() / 96, std::log(256.0), 0.1);
}

TEST_P(LanguageModel, LossIsThatOfItsLogits) {
  testing::enlarge(*model_);
  const at::Tensor texts = random_texts({3, 24}, kVocabulary);
  const at::Tensor expected = at::cross_entropy_loss(
      logits_of(*model_, texts).flatten(0, 1), texts.roll(-1, 1).flatten(), {}, at::Reduction::Sum);
  const at::Tensor loss = loss_of(*model_, texts);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
}

TEST_P(LanguageModel, LeavesIgnoredTargetsOut) {
  const at::Tensor texts = random_texts({2, 24}, kVocabulary);
  at::Tensor targets = texts.clone();
  targets[1].fill_(nn::kIgnoredTarget);
  const auto some = sheaf::forward(*model_, texts, targets, Pass{}).item<double>();
  const at::Tensor first = texts.narrow(0, 0, 1);
  EXPECT_NEAR(sheaf::forward(*model_, first, first, Pass{}).item<double>(), some, 1e-5 * some);
}

TEST_P(LanguageModel, GivesLogitsOfTheLastTokenOrOfAll) {
  const at::Tensor texts = random_texts({3, 10}, kVocabulary);
  const at::Tensor all = logits_of(*model_, texts);
  const at::Tensor last = sheaf::forward(*model_, texts, at::Tensor(), Pass{});
  EXPECT_THAT(all.sizes(), ElementsAre(3, 10, kVocabulary));
  EXPECT_THAT(last.sizes(), ElementsAre(3, kVocabulary));
  EXPECT_TRUE(last.allclose(all.select(1, 9), 1e-4, 1e-5));
}

TEST_P(LanguageModel, GivesEveryParameterAGradient) {
  testing::enlarge(*model_);
  loss_of(*model_, random_texts({4, 24}, kVocabulary)).backward();
  for (const auto& [name, value] : model_->named_parameters().pairs()) {
    ASSERT_TRUE(value.grad().defined()) << name;
    EXPECT_GT(value.grad().abs().max().item<double>(), 0) << name;
  }
}

TEST_P(LanguageModel, DoesNotLookAhead) {
  testing::enlarge(*model_);
  const at::Tensor texts = random_texts({1, 12}, kVocabulary);
  at::Tensor changed = texts.clone();
  changed[0][7] = (texts[0][7] + 1).remainder(kVocabulary);
  const at::Tensor difference = (logits_of(*model_, texts) - logits_of(*model_, changed)).abs();
  EXPECT_LT(difference.narrow(1, 0, 7).max().item<double>(), 1e-5);
  EXPECT_GT(difference.narrow(1, 7, 5).amax({0, 2}).min().item<double>(), 1e-5);
}

TEST_P(LanguageModel, LearnsNothingFromNoTexts) {
  const at::Tensor loss = loss_of(*model_, at::empty({0, 24}, at::kLong));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  for (const auto& [name, value] : model_->named_parameters().pairs()) {
    ASSERT_TRUE(value.grad().defined()) << name;
    EXPECT_TRUE(value.grad().equal(at::zeros_like(value))) << name;
  }
  EXPECT_THAT(sheaf::forward(*model_, at::empty({0, 5}, at::kLong), at::Tensor(), Pass{}).sizes(),
              ElementsAre(0, kVocabulary));
}

TEST_P(LanguageModel, LearnsNothingFromNoTextsWithDropout) {
  const auto model = seeded_model({.preset = GetParam(), .attention_dropout = 0.1});
  const at::Tensor loss = loss_of(*model, at::empty({0, 24}, at::kLong));
  loss.backward();
  for (const auto& [name, value] : model->named_parameters().pairs()) {
    ASSERT_TRUE(value.grad().defined()) << name;
  }
}

TEST_P(LanguageModel, TakesATextOfOneToken) {
  EXPECT_TRUE(loss_of(*model_, random_texts({2, 1}, kVocabulary)).isfinite().item<bool>());
}

TEST_P(LanguageModel, RunsInOtherTypes) {
  const at::Tensor texts = random_texts({2, 24}, kVocabulary);
  const auto expected = loss_of(*model_, texts).item<double>();
  model_->to(at::kDouble);
  const at::Tensor fine = loss_of(*model_, texts);
  EXPECT_EQ(fine.scalar_type(), at::kDouble);
  EXPECT_NEAR(fine.item<double>(), expected, 1e-5 * expected);
  model_->to(at::kBFloat16);
  const at::Tensor coarse = loss_of(*model_, texts);
  EXPECT_EQ(coarse.scalar_type(), at::kFloat);
  EXPECT_NEAR(coarse.item<double>(), expected, 1e-2 * expected);
}

TEST_P(LanguageModel, RefusesWhatIsNoText) {
  const auto error_with = [&](const at::Tensor& inputs, const at::Tensor& targets = {}) {
    return error_of([&] { sheaf::forward(*model_, inputs, targets, Pass{}); });
  };
  const at::Tensor text = random_texts({2, 8}, kVocabulary);
  EXPECT_THAT(error_with({}), HasSubstr("got an undefined tensor"));
  EXPECT_THAT(error_with(text[0]), HasSubstr("int64 tokens [texts, length], got Long [8]"));
  EXPECT_THAT(error_with(text.to(at::kInt)), HasSubstr("got Int [2, 8]"));
  EXPECT_THAT(error_with(at::empty({2, 0}, at::kLong)), HasSubstr("got Long [2, 0]"));
  EXPECT_THAT(error_with(at::zeros({2, 25}, at::kLong)),
              HasSubstr("at most the model's context of 24 tokens, got 25"));
  EXPECT_THAT(error_with(text, text.narrow(1, 0, 7)), HasSubstr("got Long [2, 7]"));
  EXPECT_THAT(error_with(text, text.to(at::kFloat)), HasSubstr("got Float [2, 8]"));
  EXPECT_THAT(error_with(text + kVocabulary), HasSubstr("must be between 0 and 255, got"));
  EXPECT_THAT(error_with(text.clone().fill_(-1)), HasSubstr("got -1"));
}

}  // namespace
}  // namespace sheaf::models
