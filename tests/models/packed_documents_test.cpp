// Documents that share a text are to a model what they are to it one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "support/document_positions.h"
#include "support/on_ranks.h"
#include "support/preset_name.h"

namespace sheaf::models {
namespace {

using testing::document_positions;
using testing::enlarge;
using testing::error_of;
using testing::random_texts;
using testing::seeded_model;

// Sums in another order.
constexpr double kTolerance = 1e-5;
const std::vector<std::vector<std::int64_t>> kLengths{{5, 1, 70, 4}, {80}, {33, 47}};

struct Packed {
  at::Tensor inputs;
  at::Tensor targets;
  at::Tensor positions;
};

/// Each document's last token has no target.
Packed packed_texts() {
  Packed texts{.inputs = random_texts({3, 80}, 256), .positions = document_positions(kLengths)};
  texts.targets = texts.inputs.roll(-1, 1);
  for (std::int64_t text = 0; text < 3; ++text) {
    std::int64_t end = 0;
    for (const std::int64_t length : kLengths[static_cast<std::size_t>(text)]) {
      end += length;
      texts.targets[text][end - 1] = nn::kIgnoredTarget;
    }
  }
  return texts;
}

at::Tensor packed_loss(Model& model, const Packed& texts) {
  return sheaf::forward(model, texts.inputs, texts.targets, Pass{.positions = texts.positions});
}

/// The sum over documents that are each a text of their own.
at::Tensor separate_loss(Model& model, const Packed& texts) {
  at::Tensor sum = at::zeros({});
  for (std::int64_t text = 0; text < 3; ++text) {
    std::int64_t begin = 0;
    for (const std::int64_t length : kLengths[static_cast<std::size_t>(text)]) {
      const auto part = [&](const at::Tensor& all) {
        return all[text].narrow(0, begin, length).unsqueeze(0);
      };
      sum = sum + sheaf::forward(model, part(texts.inputs), part(texts.targets), Pass{});
      begin += length;
    }
  }
  return sum;
}

void expect_near(const at::Tensor& actual, const at::Tensor& expected) {
  const double scale = expected.abs().max().item<double>();
  EXPECT_LE((actual - expected).abs().max().item<double>(), kTolerance * scale) << "of " << scale;
}

ModelOptions options_of(const std::string& preset) { return {.preset = preset, .context = 80}; }

class PackedDocuments : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Presets,
                         PackedDocuments,
                         ::testing::Values("gpt2-tiny", "llama-tiny", "smollm3-tiny"),
                         sheaf::testing::preset_name);

TEST_P(PackedDocuments, HaveTheLossAndGradientsOfSeparateOnes) {
  const auto model = seeded_model(options_of(GetParam()));
  enlarge(*model, 4);
  const Packed texts = packed_texts();
  const at::Tensor separate = separate_loss(*model, texts);
  separate.backward();
  std::vector<at::Tensor> expected;
  for (at::Tensor& parameter : model->parameters()) {
    expected.push_back(parameter.grad().clone());
    parameter.mutable_grad().reset();
  }
  const at::Tensor packed = packed_loss(*model, texts);
  packed.backward();
  expect_near(packed, separate);
  std::size_t next = 0;
  for (const auto& [name, parameter] : model->named_parameters().pairs()) {
    SCOPED_TRACE(name);
    expect_near(parameter.grad(), expected[next++]);
  }
}

TEST_P(PackedDocuments, DifferFromOneDocument) {
  const auto model = seeded_model(options_of(GetParam()));
  enlarge(*model);
  Packed texts = packed_texts();
  const auto apart = packed_loss(*model, texts).item<double>();
  texts.positions = at::Tensor();
  EXPECT_GT(std::abs(packed_loss(*model, texts).item<double>() - apart), 1e-2);
}

TEST_P(PackedDocuments, StandWhereTheirPositionsSay) {
  const auto model = seeded_model(options_of(GetParam()));
  enlarge(*model);
  const at::Tensor text = random_texts({1, 80}, 256);
  const auto logits = [&](const at::Tensor& positions) {
    return sheaf::forward(*model, text, at::Tensor(), Pass{.positions = positions});
  };
  at::Tensor positions = document_positions({{80}});
  const at::Tensor expected = logits(at::Tensor());
  EXPECT_TRUE(logits(positions).allclose(expected, 1e-5, 1e-5));
  positions[0][79] = 40;
  EXPECT_FALSE(logits(positions).allclose(expected, 1e-3, 1e-3));
}

// With dropout in attention, whose weights are made one by one.
TEST_P(PackedDocuments, LearnNothingOfOneAnother) {
  ModelOptions options = options_of(GetParam());
  options.attention_dropout = 0.2;
  const auto model = seeded_model(options);
  enlarge(*model);
  const Packed texts = packed_texts();
  const Pass pass{.random = {.seed = 4}, .logits = Logits::all, .positions = texts.positions};
  const auto logits = [&](const at::Tensor& inputs) {
    return sheaf::forward(*model, inputs, at::Tensor(), pass);
  };
  at::Tensor changed = texts.inputs.clone();
  changed[2].narrow(0, 0, 33).fill_(7);
  const at::Tensor before = logits(texts.inputs)[2], after = logits(changed)[2];
  EXPECT_FALSE(after.narrow(0, 0, 33).allclose(before.narrow(0, 0, 33), 1e-3, 1e-3));
  EXPECT_TRUE(after.narrow(0, 33, 47).allclose(before.narrow(0, 33, 47), 1e-5, 1e-5));
}

TEST_P(PackedDocuments, GiveNearlyTheSameLossInBf16) {
  const auto model = seeded_model(options_of(GetParam()));
  const Packed texts = packed_texts();
  const auto expected = packed_loss(*model, texts).item<double>();
  model->to(at::kBFloat16);
  EXPECT_NEAR(packed_loss(*model, texts).item<double>(), expected, 5e-3 * expected);
}

TEST_P(PackedDocuments, MayBeNone) {
  const auto model = seeded_model(options_of(GetParam()));
  const at::Tensor none = at::empty({0, 80}, at::kLong);
  const at::Tensor loss = packed_loss(*model, {none, none, none});
  loss.backward();
  EXPECT_EQ(loss.item<double>(), 0);
  for (const at::Tensor& parameter : model->parameters()) {
    EXPECT_EQ(parameter.grad().abs().max().item<double>(), 0);
  }
}

TEST_P(PackedDocuments, HavePositionsInTheShapeOfTheInputs) {
  const auto model = seeded_model(options_of(GetParam()));
  Packed texts = packed_texts();
  const auto error_with = [&](const at::Tensor& positions) {
    texts.positions = positions;
    return error_of([&] { (void)packed_loss(*model, texts); });
  };
  EXPECT_EQ(error_with(document_positions({{80}})),
            "positions must be int64 in the shape of the inputs Long [3, 80], got Long [1, 80]");
  EXPECT_EQ(error_with(at::full({3, 80}, 80, at::kLong)),
            "positions in texts of 80 tokens must be between 0 and 79, got 80");
  EXPECT_EQ(error_with(at::full({3, 80}, -1, at::kLong)),
            "positions in texts of 80 tokens must be between 0 and 79, got -1");
}

}  // namespace
}  // namespace sheaf::models
