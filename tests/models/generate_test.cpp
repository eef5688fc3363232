#include "sheaf/models/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "models/trial_texts.h"
#include "support/on_ranks.h"

namespace sheaf::models {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::seeded_model;
using ::testing::SizeIs;

using Tokens = std::vector<std::int64_t>;

const Tokens kPrompt{3, 1, 4, 1, 5};

class Generate : public ::testing::Test {
 protected:
  void SetUp() override { testing::enlarge(*model_); }
  std::shared_ptr<Model> model_ =
      seeded_model({.preset = "gpt2-tiny", .layers = 2, .context = 8, .dropout = 0.5});
};

TEST_F(Generate, GivesTheSameTokensForTheSameSeed) {
  const Tokens tokens = generate(*model_, kPrompt, {.max_new_tokens = 20, .seed = 7});
  EXPECT_THAT(tokens, SizeIs(20));
  at::manual_seed(99);
  EXPECT_EQ(generate(*model_, kPrompt, {.max_new_tokens = 20, .seed = 7}), tokens);
  EXPECT_NE(generate(*model_, kPrompt, {.max_new_tokens = 20, .seed = 8}), tokens);
}

TEST_F(Generate, LeavesTheGlobalGeneratorAlone) {
  at::manual_seed(1);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(1);
  static_cast<void>(generate(*model_, kPrompt, {.max_new_tokens = 3}));
  EXPECT_TRUE(at::rand({3}).equal(expected));
}

// Of a context of 8 the last 4 are left when it is full, with the token that did not fit.
TEST_F(Generate, TakesTheLikeliestAtTemperatureZero) {
  const Tokens tokens = generate(*model_, kPrompt, {.max_new_tokens = 20, .temperature = 0});
  EXPECT_THAT(tokens, SizeIs(20));
  const at::NoGradGuard no_grad;
  model_->eval();
  Tokens seen = kPrompt;
  for (const std::int64_t token : tokens) {
    if (seen.size() > 8) seen.erase(seen.begin(), seen.end() - 4);
    EXPECT_EQ(testing::next_logits(*model_, seen).argmax(-1).item<std::int64_t>(), token);
    seen.push_back(token);
  }
}

TEST_F(Generate, DoesNotDependOnTheSeedAtTemperatureZero) {
  EXPECT_EQ(generate(*model_, kPrompt, {.temperature = 0, .seed = 1}),
            generate(*model_, kPrompt, {.temperature = 0, .seed = 2}));
}

TEST_F(Generate, TakesTheLikeliestOfOne) {
  EXPECT_EQ(generate(*model_, kPrompt, {.max_new_tokens = 6, .top_k = 1}),
            generate(*model_, kPrompt, {.max_new_tokens = 6, .temperature = 0}));
}

TEST_F(Generate, AllowsATopOfMoreThanTheVocabulary) {
  EXPECT_EQ(generate(*model_, kPrompt, {.max_new_tokens = 6, .top_k = 1000}),
            generate(*model_, kPrompt, {.max_new_tokens = 6}));
}

// The head's output made equal for three tokens and hopeless for the others.
TEST_F(Generate, DrawsByProbability) {
  const at::NoGradGuard no_grad;
  const auto parameters = model_->named_parameters();
  parameters["transformer.ln_f.weight"].zero_();
  parameters["transformer.ln_f.bias"].fill_(1);
  const at::Tensor embedding = parameters["transformer.wte.weight"];
  embedding.fill_(-1);
  embedding[10].fill_(0);
  embedding[20].fill_(0);
  embedding[30].fill_(std::log(2.0) / 128);
  Tokens counts(256);
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    ++counts.at(static_cast<std::size_t>(
        generate(*model_, kPrompt, {.max_new_tokens = 1, .seed = seed}).at(0)));
  }
  EXPECT_EQ(counts[10] + counts[20] + counts[30], 400);
  EXPECT_NEAR(static_cast<double>(counts[10]), 100, 35);
  EXPECT_NEAR(static_cast<double>(counts[20]), 100, 35);
  EXPECT_NEAR(static_cast<double>(counts[30]), 200, 40);
}

TEST_F(Generate, StopsBeforeATokenThatEndsTheText) {
  const Tokens tokens = generate(*model_, kPrompt, {.max_new_tokens = 20, .seed = 7});
  const auto end = std::find(tokens.begin(), tokens.end(), tokens[4]);
  EXPECT_EQ(generate(*model_, kPrompt, {.max_new_tokens = 20, .seed = 7, .stop = {tokens[4]}}),
            Tokens(tokens.begin(), end));
}

TEST_F(Generate, GivesNothingWhereNothingIsAskedFor) {
  EXPECT_THAT(generate(*model_, kPrompt, {.max_new_tokens = 0}), IsEmpty());
}

TEST_F(Generate, SeesOnlyTheEndOfALongPrompt) {
  Tokens prompt{9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3};
  const Tokens tokens = generate(*model_, prompt, {.max_new_tokens = 5, .temperature = 0});
  prompt[0] = 100;
  EXPECT_EQ(generate(*model_, prompt, {.max_new_tokens = 5, .temperature = 0}), tokens);
}

// A context of one token is full with it.
TEST_F(Generate, GoesOnWithTheSmallestContext) {
  const auto model = seeded_model({.preset = "gpt2-tiny", .layers = 1, .context = 1});
  EXPECT_THAT(generate(*model, kPrompt, {.max_new_tokens = 5}), SizeIs(5));
}

TEST_F(Generate, ContinuesTextsTogetherAsAlone) {
  for (const double temperature : {0.0, 1.0}) {
    const std::vector<Tokens> prompts{kPrompt, {7}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3}, {7, 7}};
    GenerateOptions options{.max_new_tokens = 12, .temperature = temperature, .seed = 40};
    const auto together = generate_all(*model_, prompts, options);
    ASSERT_THAT(together, SizeIs(4));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(generate(*model_, prompts[i], options), together[i].tokens) << i;
      ++options.seed;
    }
  }
}

// Each text gets a stop of its own, and ends there while the others go on.
TEST_F(Generate, EndsEachTextForItself) {
  const std::vector<Tokens> prompts{kPrompt, {7}, {9, 8}, {7, 7}};
  GenerateOptions options{.max_new_tokens = 12, .temperature = 0};
  const auto whole = generate_all(*model_, prompts, options);
  Tokens counts(4);
  options.on_token = [&](std::size_t text, std::int64_t token) {
    EXPECT_EQ(whole[text].tokens.at(static_cast<std::size_t>(counts[text])), token);
    return ++counts[text] != static_cast<std::int64_t>(2 * text + 1);
  };
  const auto cut = generate_all(*model_, prompts, options);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(cut[i].ending, Ending::caller);
    const auto& tokens = whole[i].tokens;
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(2 * i + 1);
    EXPECT_EQ(cut[i].tokens, Tokens(tokens.begin(), end));
  }
}

TEST_F(Generate, SaysWhyATextEnds) {
  const std::vector<Tokens> prompts{kPrompt};
  const auto whole = generate_all(*model_, prompts, {.max_new_tokens = 3, .temperature = 0});
  EXPECT_EQ(whole[0].ending, Ending::length);
  const auto stopped = generate_all(
      *model_, prompts, {.max_new_tokens = 3, .temperature = 0, .stop = {whole[0].tokens[0]}});
  EXPECT_EQ(stopped[0].ending, Ending::stop);
  EXPECT_THAT(stopped[0].tokens, IsEmpty());
}

TEST_F(Generate, RepeatsNothingUnderAHighPenalty) {
  const Tokens tokens = generate(
      *model_, kPrompt, {.max_new_tokens = 100, .temperature = 0, .repetition_penalty = 1e9});
  std::set<std::int64_t> different(kPrompt.begin(), kPrompt.end());
  const std::size_t before = different.size();
  different.insert(tokens.begin(), tokens.end());
  EXPECT_EQ(different.size(), before + 100);
}

TEST_F(Generate, TakesTheLikeliestOfASmallPart) {
  EXPECT_EQ(generate(*model_, kPrompt, {.max_new_tokens = 6, .top_p = 0}),
            generate(*model_, kPrompt, {.max_new_tokens = 6, .temperature = 0}));
}

TEST_F(Generate, GivesEveryModuleItsModeBack) {
  model_->train();
  model_->named_modules()["transformer.h.1"]->eval();
  static_cast<void>(generate(*model_, kPrompt, {.max_new_tokens = 1}));
  EXPECT_TRUE(model_->is_training());
  EXPECT_TRUE(model_->named_modules()["transformer.h.0.mlp"]->is_training());
  EXPECT_FALSE(model_->named_modules()["transformer.h.1"]->is_training());
  EXPECT_FALSE(model_->named_modules()["transformer.h.1.mlp"]->is_training());
}

TEST_F(Generate, GivesTheModeBackAfterAnError) {
  const at::NoGradGuard no_grad;
  model_->named_parameters()["transformer.ln_f.bias"].fill_(NAN);
  EXPECT_THAT(error_of([&] { static_cast<void>(generate(*model_, kPrompt)); }),
              HasSubstr("logits are not numbers"));
  EXPECT_TRUE(model_->is_training());
}

TEST_F(Generate, RefusesWhatCannotBe) {
  const auto error_with = [&](const Tokens& prompt, const GenerateOptions& options = {}) {
    return error_of([&] { static_cast<void>(generate(*model_, prompt, options)); });
  };
  EXPECT_THAT(error_with({}), HasSubstr("at least 1 token"));
  EXPECT_THAT(error_with({256}), HasSubstr("between 0 and 255, got 256"));
  EXPECT_THAT(error_with({-1}), HasSubstr("got -1"));
  EXPECT_THAT(error_with(kPrompt, {.max_new_tokens = -1}), HasSubstr("max_new_tokens"));
  EXPECT_THAT(error_with(kPrompt, {.temperature = -1}), HasSubstr("temperature"));
  EXPECT_THAT(error_with(kPrompt, {.temperature = NAN}), HasSubstr("temperature"));
  EXPECT_THAT(error_with(kPrompt, {.top_k = -1}), HasSubstr("top_k"));
  const auto classifier = seeded_model({.preset = "mnist-mlp"});
  EXPECT_THAT(error_of([&] { static_cast<void>(generate(*classifier, kPrompt)); }),
              HasSubstr("only a language model"));
}

}  // namespace
}  // namespace sheaf::models
