#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"

namespace sheaf::models {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::logits_of;
using testing::loss_of;
using testing::next_logits;
using ::testing::Not;
using testing::random_texts;
using testing::seeded_model;

TEST(Llama, HasTheNamesOfHuggingFace) {
  const auto model = seeded_model({.preset = "smollm3-tiny", .layers = 1});
  EXPECT_THAT(model->named_parameters().keys(),
              ElementsAre("model.embed_tokens.weight",
                          "model.layers.0.self_attn.q_proj.weight",
                          "model.layers.0.self_attn.k_proj.weight",
                          "model.layers.0.self_attn.v_proj.weight",
                          "model.layers.0.self_attn.o_proj.weight",
                          "model.layers.0.mlp.gate_proj.weight",
                          "model.layers.0.mlp.up_proj.weight",
                          "model.layers.0.mlp.down_proj.weight",
                          "model.layers.0.input_layernorm.weight",
                          "model.layers.0.post_attention_layernorm.weight",
                          "model.norm.weight"));
  EXPECT_TRUE(model->named_buffers().is_empty());
}

TEST(Llama, HasAHeadOfItsOwnOnlyWhereItIsNotTied) {
  EXPECT_THAT(seeded_model({.preset = "llama-tiny"})->named_parameters().keys(),
              Contains("lm_head.weight"));
  EXPECT_THAT(seeded_model({.preset = "smollm3-tiny"})->named_parameters().keys(),
              Not(Contains("lm_head.weight")));
}

TEST(Llama, KeepsWeightsAsHuggingFaceDoes) {
  const auto model = seeded_model({.preset = "smollm3-tiny"});
  const auto parameters = model->named_parameters();
  EXPECT_THAT(parameters["model.layers.3.self_attn.q_proj.weight"].sizes(), ElementsAre(64, 64));
  EXPECT_THAT(parameters["model.layers.3.self_attn.k_proj.weight"].sizes(), ElementsAre(32, 64));
  EXPECT_THAT(parameters["model.layers.3.mlp.up_proj.weight"].sizes(), ElementsAre(160, 64));
  EXPECT_THAT(parameters["model.layers.3.mlp.down_proj.weight"].sizes(), ElementsAre(64, 160));
}

TEST(Llama, StartsAsTheOriginal) {
  const auto model = seeded_model({.preset = "llama-tiny"});
  for (const auto& [name, value] : model->named_parameters().pairs()) {
    SCOPED_TRACE(name);
    if (value.dim() == 1) {
      EXPECT_TRUE(value.equal(at::ones_like(value)));
    } else {
      EXPECT_NEAR(value.std().item<double>(), 0.02, 0.03 * 0.02);
    }
  }
}

TEST(Llama, NamesItsBlocks) {
  const auto model = seeded_model({.preset = "llama-tiny", .layers = 2});
  EXPECT_THAT(model->blocks(), ElementsAre("model.layers.0", "model.layers.1"));
  for (const auto& name : model->blocks()) EXPECT_TRUE(model->named_modules().contains(name));
}

// Without positions the last token sees the others as a set: their order does not matter.
TEST(Llama, KnowsPositions) {
  const auto model = seeded_model({.preset = "llama-tiny", .layers = 1});
  testing::enlarge(*model);
  EXPECT_FALSE(
      next_logits(*model, {5, 6, 7, 8}).allclose(next_logits(*model, {6, 7, 5, 8}), 1e-3, 1e-3));
}

TEST(Llama, LeavesRotaryPositionsOutInEveryFourthLayer) {
  const auto model = seeded_model({.preset = "smollm3-tiny"});
  testing::enlarge(*model);
  // Only the fourth layer attends: the others have no output.
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    if (item.key().find("o_proj") == std::string::npos) continue;
    if (item.key().find("layers.3") == std::string::npos) item.value().zero_();
  }
  const at::Tensor logits = next_logits(*model, {5, 6, 7, 8});
  EXPECT_TRUE(logits.allclose(next_logits(*model, {6, 7, 5, 8}), 1e-4, 1e-4));
  EXPECT_FALSE(logits.allclose(next_logits(*model, {6, 7, 4, 8}), 1e-4, 1e-4));
}

TEST(Llama, CanTrainAfterAPassInInferenceMode) {
  const auto model = seeded_model({.preset = "llama-tiny"});
  const at::Tensor texts = random_texts({2, 16}, 256);
  {
    const c10::InferenceMode inference;
    logits_of(*model, texts);
  }
  EXPECT_NO_THROW(loss_of(*model, texts).backward());
}

TEST(Llama, TakesTextsOfAnyLengthInAnyOrder) {
  const auto model = seeded_model({.preset = "llama-tiny"});
  testing::enlarge(*model);
  const at::Tensor text = random_texts({1, 100}, 256);
  const at::Tensor early = logits_of(*model, text.narrow(1, 0, 3));
  const at::Tensor late = logits_of(*model, text);
  EXPECT_TRUE(late.narrow(1, 0, 3).allclose(early, 1e-4, 1e-4));
  EXPECT_TRUE(logits_of(*model, text.narrow(1, 0, 3)).equal(early));
}

TEST(Llama, DropsAttentionWeightsWhereAskedTo) {
  const auto model = seeded_model({.preset = "llama-tiny", .attention_dropout = 0.5});
  testing::enlarge(*model);
  const at::Tensor texts = random_texts({2, 16}, 256);
  const at::Tensor one = loss_of(*model, texts, {.random = {.step = 0}});
  const at::Tensor other = loss_of(*model, texts, {.random = {.step = 1}});
  EXPECT_FALSE(one.equal(other));
}

}  // namespace
}  // namespace sheaf::models
