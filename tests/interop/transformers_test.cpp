// The same as Hugging Face's transformers: from the same weights, on the same text, the models have
// the same logits, losses and gradients, and train alike.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sheaf/comm/run_ranks.h"
#include "sheaf/models/model.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/train/step.h"
#include "transformers_peer.h"

namespace sheaf {
namespace {

using testing::TensorFile;
using testing::TransformersPeer;

// fp32 on both sides, with sums in another order.
constexpr double kTolerance = 1e-5;
constexpr std::int64_t kSteps = 50;

class SameAsTransformers : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { why_not_ = TransformersPeer::why_not(); }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    at::manual_seed(11);
  }

  void expect_close(const std::string& what, const at::Tensor& ours, const at::Tensor& theirs) {
    ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
    const auto worst = (ours - theirs).abs().max().item<double>();
    EXPECT_LE(worst, kTolerance) << what;
    RecordProperty(what, fmt::format("{:.1e}", worst));
  }

  static inline std::string why_not_;
};
INSTANTIATE_TEST_SUITE_P(Models,
                         SameAsTransformers,
                         ::testing::Values("gpt2", "llama", "smollm3"),
                         [](const auto& tested) { return tested.param; });

at::Tensor random_tokens(at::IntArrayRef shape) {
  return at::randint(TransformersPeer::kVocabulary, shape, at::kLong);
}

TEST_P(SameAsTransformers, LogitsLossAndGradients) {
  TransformersPeer peer(GetParam());
  const at::Tensor inputs = random_tokens({3, TransformersPeer::kContext - 3});
  const at::Tensor targets = random_tokens(inputs.sizes());
  const TensorFile theirs = peer.pass(inputs, targets);
  const auto model = peer.model();
  const at::Tensor logits =
      sheaf::forward(*model, inputs, at::Tensor(), models::Pass{.logits = models::Logits::all});
  const at::Tensor loss = sheaf::forward(*model, inputs, targets, models::Pass{});
  loss.backward();
  // Of the mean over tokens: a sum's size, and so its rounding, grows with the text.
  const auto count = static_cast<double>(targets.numel());
  expect_close("logits", logits.detach(), theirs.at("logits"));
  expect_close("loss", loss.detach() / count, theirs.at("loss") / count);
  ASSERT_EQ(theirs.size(), 2 + model->parameters().size());
  for (const auto& [name, value] : model->named_parameters().pairs()) {
    const at::Tensor gradient = theirs.at("gradient." + name) / count;
    EXPECT_GT(gradient.abs().max().item<double>(), 10 * kTolerance) << name;
    expect_close("gradient." + name, value.grad() / count, gradient);
  }
}

/// One rank's half of a step's texts.
data::Batch half_of(const at::Tensor& inputs, const at::Tensor& targets, const comm::Group& world) {
  const std::int64_t rows = inputs.size(0) / world.size();
  const std::int64_t first = rows * world.rank();
  data::Batch batch{.inputs = inputs.narrow(0, first, rows),
                    .targets = targets.narrow(0, first, rows),
                    .first_sample = first,
                    .global_samples = inputs.size(0)};
  for (std::int64_t row = 0; row < rows; ++row) batch.samples.push_back(first + row);
  return batch;
}

/// Trains as the peer does, on one of several ranks and with two passes per step; returns the loss
/// of every step.
at::Tensor train_on_rank(TransformersPeer& peer,
                         const at::Tensor& texts,
                         const at::Tensor& targets,
                         const comm::Group& world) {
  const auto model = peer.model();
  const auto state =
      shard(*model, {.group = world, .stage = Stage::zero3, .wrap = {.names = model->blocks()}});
  const auto optimizer = std::make_shared<optim::AdamW>(
      state.slots(),
      optim::AdamWOptions{.learning_rate = 1e-3, .epsilon = 1e-4, .weight_decay = 0.1});
  train::TrainStep step({.model = model, .state = state, .optimizer = optimizer, .group = world},
                        {.schedule = {.kind = optim::ScheduleKind::cosine,
                                      .total_steps = kSteps,
                                      .final_factor = 0.1},
                         .micro_batch = 1,
                         .clip = 1.0});
  train::PhaseClock clock(at::kCPU, world);
  at::Tensor losses = at::zeros({kSteps}, at::kDouble);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const data::Batch batch = half_of(texts[i], targets[i], world);
    clock.start();
    losses[i] = step.run(batch, i, clock).loss;
  }
  return losses;
}

TEST_P(SameAsTransformers, LossesOfFiftySteps) {
  TransformersPeer peer(GetParam());
  // Every text counts up by threes from somewhere: soon learnt, so that losses do change.
  const at::Tensor first = random_tokens({kSteps, 4, 1});
  const at::Tensor texts =
      (first + at::arange(TransformersPeer::kContext) * 3).remainder(TransformersPeer::kVocabulary);
  const at::Tensor targets = (texts + 3).remainder(TransformersPeer::kVocabulary);
  const TensorFile theirs = peer.train(texts, targets);
  at::Tensor losses;
  comm::run_ranks(2, [&](const comm::Group& world) {
    const at::Tensor ours = train_on_rank(peer, texts, targets, world);
    if (world.rank() == 0) losses = ours;
  });
  EXPECT_LT(losses[-1].item<double>(), 0.8 * losses[0].item<double>()) << losses;
  // Rounding differences grow from step to step.
  const auto worst = (losses - theirs.at("losses")).abs().max().item<double>();
  EXPECT_LE(worst, 10 * kTolerance);
  RecordProperty("losses", fmt::format("{:.1e}", worst));
}

}  // namespace
}  // namespace sheaf
