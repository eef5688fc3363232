// A text that is read in pieces, with what is kept of earlier ones, gives the logits of the whole.
#include "sheaf/models/key_value_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "models/trial_texts.h"
#include "support/on_ranks.h"
#include "support/preset_name.h"

namespace sheaf::models {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::logits_of;
using testing::random_texts;
using testing::seeded_model;

constexpr std::int64_t kContext = 24;
// The same sums in another order.
constexpr double kTolerance = 1e-5;

class CachedModel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    testing::enlarge(*model_, 4);
    model_->eval();
  }

  at::Tensor read(const at::Tensor& tokens, KeyValueCache& cache, Pass pass = {}) {
    pass.cache = &cache;
    return sheaf::forward(*model_, tokens, at::Tensor(), pass);
  }

  static void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
    const auto gap = (actual - expected).abs().max().item<double>();
    EXPECT_LE(gap, kTolerance * expected.abs().max().item<double>());
  }

  const at::NoGradGuard no_grad_;
  std::shared_ptr<Model> model_ = seeded_model({.preset = GetParam(), .context = kContext});
};
INSTANTIATE_TEST_SUITE_P(Presets,
                         CachedModel,
                         ::testing::Values("gpt2-tiny", "smollm3-tiny", "llama-tiny"),
                         sheaf::testing::preset_name);

TEST_P(CachedModel, ReadsTokenByTokenWhatItReadsAtOnce) {
  const at::Tensor texts = random_texts({2, kContext}, 256);
  const at::Tensor expected = logits_of(*model_, texts);
  KeyValueCache cache(model_->shape(), 2, kContext);
  expect_close(read(texts.narrow(1, 0, 5), cache, {.logits = Logits::all}),
               expected.narrow(1, 0, 5));
  for (std::int64_t i = 5; i < kContext; ++i) {
    expect_close(read(texts.narrow(1, i, 1), cache), expected.select(1, i));
  }
  EXPECT_THAT(cache.lengths(), ElementsAre(kContext, kContext));
}

TEST_P(CachedModel, ReadsSeveralTokensBehindOthers) {
  const at::Tensor texts = random_texts({3, 20}, 256);
  KeyValueCache cache(model_->shape(), 3, 20);
  static_cast<void>(read(texts.narrow(1, 0, 7), cache));
  expect_close(read(texts.narrow(1, 7, 13), cache, {.logits = Logits::all}),
               logits_of(*model_, texts).narrow(1, 7, 13));
}

// The first text has 9 tokens, the second 4 and the last 6; what fills them up does not count.
TEST_P(CachedModel, KeepsTextsOfDifferentLengths) {
  const at::Tensor texts = random_texts({3, 12}, 256);
  const std::vector<std::int64_t> lengths{9, 4, 6};
  const at::Tensor expected = logits_of(*model_, texts);
  KeyValueCache cache(model_->shape(), 3, 12);
  const at::Tensor first = read(texts.narrow(1, 0, 9), cache, {.counts = lengths});
  for (std::int64_t i = 0; i < 3; ++i) expect_close(first[i], expected[i][lengths.at(i) - 1]);
  for (std::int64_t step = 0; step < 3; ++step) {
    at::Tensor next = at::empty({3, 1}, at::kLong);
    for (std::int64_t i = 0; i < 3; ++i) next[i] = texts[i][lengths.at(i) + step];
    const at::Tensor logits = read(next, cache);
    for (std::int64_t i = 0; i < 3; ++i) expect_close(logits[i], expected[i][lengths.at(i) + step]);
  }
}

TEST_P(CachedModel, DropsATextAndPutsTheLastInItsPlace) {
  const at::Tensor texts = random_texts({3, 8}, 256);
  const at::Tensor expected = logits_of(*model_, texts).select(1, 7);
  KeyValueCache cache(model_->shape(), 3, 8);
  static_cast<void>(read(texts.narrow(1, 0, 7), cache));
  cache.drop(0);
  EXPECT_THAT(cache.lengths(), ElementsAre(7, 7));
  const at::Tensor last = at::stack({texts[2], texts[1]}).narrow(1, 7, 1);
  expect_close(read(last, cache), at::stack({expected[2], expected[1]}));
}

TEST_P(CachedModel, BeginsAnewWhenCleared) {
  const at::Tensor texts = random_texts({1, 8}, 256);
  KeyValueCache cache(model_->shape(), 1, 8);
  static_cast<void>(read(texts, cache));
  cache.clear();
  expect_close(read(texts, cache), logits_of(*model_, texts).select(1, 7));
}

TEST_P(CachedModel, ComputesInOtherTypes) {
  model_->to(at::kDouble);
  const at::Tensor texts = random_texts({2, 10}, 256);
  KeyValueCache cache(model_->shape(), 2, 10);
  static_cast<void>(read(texts.narrow(1, 0, 6), cache, {.counts = {6, 3}}));
  cache.drop(1);
  const at::Tensor first = texts.narrow(0, 0, 1);
  expect_close(read(first.narrow(1, 6, 4), cache), logits_of(*model_, first).select(1, 9));
}

TEST_P(CachedModel, RefusesWhatDoesNotFit) {
  const auto error_with = [&](const at::Tensor& tokens, KeyValueCache& cache, const Pass& pass) {
    return error_of([&] { static_cast<void>(read(tokens, cache, pass)); });
  };
  KeyValueCache cache(model_->shape(), 2, 8);
  const at::Tensor texts = random_texts({2, 8}, 256);
  EXPECT_THAT(error_with(texts.narrow(0, 0, 1), cache, {}), HasSubstr("of 2 texts"));
  EXPECT_THAT(error_with(texts, cache, {.counts = {8}}), HasSubstr("a count for each"));
  EXPECT_THAT(error_with(texts, cache, {.counts = {8, 9}}), HasSubstr("got 9"));
  EXPECT_THAT(error_with(texts, cache, {.counts = {0, 8}}), HasSubstr("got 0"));
  static_cast<void>(read(texts.narrow(1, 0, 6), cache));
  EXPECT_THAT(error_with(texts.narrow(1, 0, 3), cache, {}), HasSubstr("6 are, got 3 more"));
  EXPECT_THAT(error_of([&] {
                const at::AutoGradMode on(true);
                static_cast<void>(read(texts.narrow(1, 0, 1), cache));
              }),
              HasSubstr("at::NoGradGuard"));
  EXPECT_THAT(error_of([&] { KeyValueCache(model_->shape(), 1, kContext + 1); }),
              HasSubstr("context of 24, got 25"));
}

}  // namespace
}  // namespace sheaf::models
