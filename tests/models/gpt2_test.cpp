#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"
#include "sheaf/module/claim.h"

namespace sheaf::models {
namespace {

using ::testing::ElementsAre;
using testing::logits_of;
using testing::loss_of;
using testing::random_texts;
using testing::seeded_model;

const ModelOptions kDropping{
    .preset = "gpt2-tiny", .layers = 2, .context = 16, .dropout = 0.2, .attention_dropout = 0.1};

// A deviation is known to a few per cent from tens of thousands of draws.
void expect_deviation(const at::Tensor& weight, double deviation) {
  EXPECT_NEAR(weight.std().item<double>(), deviation, 0.03 * deviation);
  EXPECT_NEAR(weight.mean().item<double>(), 0, 0.03 * deviation);
}

TEST(Gpt2, HasTheNamesOfHuggingFace) {
  const auto model = seeded_model({.preset = "gpt2-tiny", .layers = 1});
  EXPECT_THAT(model->named_parameters().keys(),
              ElementsAre("transformer.wte.weight",
                          "transformer.wpe.weight",
                          "transformer.h.0.ln_1.weight",
                          "transformer.h.0.ln_1.bias",
                          "transformer.h.0.attn.c_attn.weight",
                          "transformer.h.0.attn.c_attn.bias",
                          "transformer.h.0.attn.c_proj.weight",
                          "transformer.h.0.attn.c_proj.bias",
                          "transformer.h.0.ln_2.weight",
                          "transformer.h.0.ln_2.bias",
                          "transformer.h.0.mlp.c_fc.weight",
                          "transformer.h.0.mlp.c_fc.bias",
                          "transformer.h.0.mlp.c_proj.weight",
                          "transformer.h.0.mlp.c_proj.bias",
                          "transformer.ln_f.weight",
                          "transformer.ln_f.bias"));
  EXPECT_TRUE(model->named_buffers().is_empty());
}

TEST(Gpt2, KeepsWeightsAsHuggingFaceDoes) {
  const auto model = seeded_model({.preset = "gpt2-tiny", .hidden = 200});
  const auto parameters = model->named_parameters();
  EXPECT_THAT(parameters["transformer.wte.weight"].sizes(), ElementsAre(256, 128));
  EXPECT_THAT(parameters["transformer.wpe.weight"].sizes(), ElementsAre(128, 128));
  EXPECT_THAT(parameters["transformer.h.3.attn.c_attn.weight"].sizes(), ElementsAre(128, 384));
  EXPECT_THAT(parameters["transformer.h.3.mlp.c_fc.weight"].sizes(), ElementsAre(128, 200));
  EXPECT_THAT(parameters["transformer.h.3.mlp.c_proj.weight"].sizes(), ElementsAre(200, 128));
}

TEST(Gpt2, StartsAsTheOriginal) {
  const auto model = seeded_model({.preset = "gpt2-tiny"});
  const double residual = 0.02 / std::sqrt(2.0 * 4);
  for (const auto& [name, value] : model->named_parameters().pairs()) {
    SCOPED_TRACE(name);
    if (name.ends_with(".bias")) {
      EXPECT_EQ(value.abs().max().item<double>(), 0);
    } else if (value.dim() == 1) {
      EXPECT_TRUE(value.equal(at::ones_like(value)));
    } else {
      expect_deviation(value, name.ends_with("c_proj.weight") ? residual : 0.02);
    }
  }
}

TEST(Gpt2, NamesItsBlocks) {
  const auto model = seeded_model({.preset = "gpt2-tiny", .layers = 2});
  EXPECT_THAT(model->blocks(), ElementsAre("transformer.h.0", "transformer.h.1"));
  for (const auto& name : model->blocks()) EXPECT_TRUE(model->named_modules().contains(name));
}

TEST(Gpt2, KnowsPositions) {
  const auto model = seeded_model({.preset = "gpt2-tiny"});
  const at::Tensor logits = logits_of(*model, at::full({1, 8}, 7, at::kLong));
  EXPECT_GT((logits[0][0] - logits[0][5]).abs().max().item<double>(), 1e-3);
}

Pass pass_of(std::int64_t step, std::int64_t first_sample) {
  return {.random = {.seed = 9, .step = step, .first_sample = first_sample}};
}

TEST(Gpt2Dropout, IsTheSameForABatchAndForItsParts) {
  const auto model = seeded_model(kDropping);
  const at::Tensor texts = random_texts({4, 16}, 256);
  const auto whole = loss_of(*model, texts, pass_of(0, 0)).item<double>();
  const auto first = loss_of(*model, texts.narrow(0, 0, 1), pass_of(0, 0)).item<double>();
  const auto rest = loss_of(*model, texts.narrow(0, 1, 3), pass_of(0, 1)).item<double>();
  EXPECT_NEAR(first + rest, whole, 1e-5 * whole);
}

TEST(Gpt2Dropout, ChangesWithTheStepAndTheSample) {
  const auto model = seeded_model(kDropping);
  testing::enlarge(*model);
  const at::Tensor texts = random_texts({2, 16}, 256);
  const auto loss = loss_of(*model, texts, pass_of(0, 0)).item<double>();
  EXPECT_EQ(loss_of(*model, texts, pass_of(0, 0)).item<double>(), loss);
  EXPECT_NE(loss_of(*model, texts, pass_of(1, 0)).item<double>(), loss);
  EXPECT_NE(loss_of(*model, texts, pass_of(0, 2)).item<double>(), loss);
}

TEST(Gpt2Dropout, IsOffOutsideOfTraining) {
  const auto model = seeded_model(kDropping);
  ModelOptions options = kDropping;
  options.dropout = 0;
  options.attention_dropout = 0;
  const auto plain = seeded_model(options);
  const at::Tensor texts = random_texts({2, 16}, 256);
  EXPECT_FALSE(loss_of(*model, texts).equal(loss_of(*plain, texts)));
  model->eval();
  EXPECT_NEAR(loss_of(*model, texts).item<double>(), loss_of(*plain, texts).item<double>(), 1e-3);
  EXPECT_TRUE(logits_of(*model, texts).allclose(logits_of(*plain, texts), 1e-5, 1e-6));
}

/// Keeps what modules add to their input.
class Recorder final : public module::Claim {
 public:
  module::Tensors run(
      const module::Tensors& inputs,
      const std::function<module::Tensors(const module::Tensors&)>& forward) override {
    const module::Tensors outputs = forward(inputs);
    seen.push_back((outputs.at(0) - inputs.at(0)).detach());
    return outputs;
  }
  std::vector<at::Tensor> seen;
};

// Projections that give 1 everywhere show the masks themselves.
TEST(Gpt2Dropout, DrawsOtherNumbersAtEverySite) {
  const auto model =
      seeded_model({.preset = "gpt2-tiny", .layers = 2, .context = 16, .dropout = 0.5});
  const auto recorder = std::make_shared<Recorder>();
  std::vector<module::ClaimHandle> claims;
  for (const std::string name : {"h.0.attn", "h.0.mlp", "h.1.attn", "h.1.mlp"}) {
    const auto part = model->named_modules()["transformer." + name];
    const at::NoGradGuard no_grad;
    part->named_parameters()["c_proj.weight"].zero_();
    part->named_parameters()["c_proj.bias"].fill_(1);
    claims.push_back(module::claim(*part, recorder));
  }
  logits_of(*model, random_texts({2, 16}, 256));
  ASSERT_EQ(recorder->seen.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(recorder->seen[i].mean().item<double>(), 1, 0.1);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(recorder->seen[i].equal(recorder->seen[j]));
  }
}

}  // namespace
}  // namespace sheaf::models
