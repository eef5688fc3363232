// What a prediction says of itself; measured_memory_test.cpp compares with real runs.
#include "sheaf/plan/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plan/sample_models.h"
#include "sheaf/base/error.h"

namespace sheaf::plan {
namespace {

using memory::Purpose;
using testing::gpt2_large;
using ::testing::HasSubstr;
using testing::small_gpt2;
using testing::small_llama;
using ::testing::ThrowsMessage;

constexpr std::array kStages{Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3};

TEST(PredictStates, FollowTheTableOfStrategies) {
  const Architecture model = gpt2_large();
  const auto n = static_cast<double>(num_parameters(model));
  const auto states = [&](Stage stage) {
    return predict_states(model, {.stage = stage, .shard = 4});
  };
  const auto near = [](Bytes bytes, double expected) {
    EXPECT_NEAR(static_cast<double>(bytes.count), expected, 1e-4 * expected);
  };
  near(states(Stage::ddp).total(), 16 * n);
  near(states(Stage::zero1).total(), 8 * n + 8 * n / 4);
  near(states(Stage::zero2).total(), 4 * n + 12 * n / 4);
  near(states(Stage::zero3).total(), 16 * n / 4);
}

TEST(PredictStates, InLowPrecisionHaveMastersBesides) {
  const Architecture model = small_gpt2();
  const auto n = 4 * num_parameters(model);
  Setting setting{.stage = Stage::ddp, .compute = Number::bf16};
  const auto states = predict_states(model, setting);
  EXPECT_GE(states[Purpose::parameters].count, n + n / 2);
  EXPECT_LT(states[Purpose::parameters].count, n + n / 2 + n / 10);
}

TEST(PredictMemory, AddsUpAtThePeak) {
  for (const Architecture& model : {small_gpt2(), small_llama()}) {
    for (const Stage stage : kStages) {
      const Prediction prediction = predict_memory(model, {.stage = stage, .shard = 2});
      EXPECT_EQ(prediction.at_peak.total(), prediction.peak);
      const auto& blocks = prediction.activations_by_block;
      const Bytes activations{
          std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}, [](auto sum, Bytes b) {
            return sum + b.count;
          })};
      EXPECT_EQ(activations, prediction.at_peak[Purpose::activations]);
      EXPECT_GE(prediction.peak, prediction.resting.total());
      EXPECT_NE(prediction.moment, "");
    }
  }
}

TEST(PredictMemory, FallsFromStageToStage) {
  Bytes last{std::numeric_limits<std::int64_t>::max()};
  for (const Stage stage : kStages) {
    const Bytes peak = predict_memory(gpt2_large(), {.stage = stage, .shard = 8}).peak;
    EXPECT_LT(peak, last);
    last = peak;
  }
}

TEST(PredictMemory, GrowsWithTheBatchByTheSameForEachText) {
  const auto peak = [](std::int64_t batch) {
    return predict_memory(small_gpt2(), {.stage = Stage::ddp, .micro_batch = batch}).peak.count;
  };
  // From here on the chunks of the loss are as large as they get.
  EXPECT_EQ(peak(65) - peak(64), peak(129) - peak(128));
  EXPECT_GT(peak(65), peak(64));
}

TEST(PredictMemory, KeepsWholeGradientsOverPassesWhereTheseAreCut) {
  Architecture model = small_gpt2();
  model.layers = 12;
  model.vocabulary = 64;
  const auto highest = [&](Stage stage, bool reduces) {
    const Setting setting{
        .stage = stage, .shard = 2, .accumulation = 4, .reduces_every_pass = reduces};
    return predict_memory(model, setting).highest[Purpose::communication].count;
  };
  EXPECT_EQ(highest(Stage::zero1, false), 0);
  EXPECT_GE(highest(Stage::zero2, false), 4 * num_parameters(model));
  EXPECT_LT(highest(Stage::zero3, true), highest(Stage::zero3, false));
}

TEST(PredictMemory, KeepsAttentionWeightsOnlyWithDropout) {
  Architecture model = small_gpt2();
  const Bytes without = predict_memory(model, {.micro_batch = 2}).at_peak[Purpose::activations];
  model.attention_dropout = 0.1;
  const Bytes with = predict_memory(model, {.micro_batch = 2}).at_peak[Purpose::activations];
  const std::int64_t scores = 2 * 4 * 128 * 128 * 4;  // texts, heads, length squared, bytes
  EXPECT_GE(with.count - without.count, 4 * scores);
}

TEST(PredictMemory, RefusesWhatCannotBe) {
  EXPECT_THAT([] { (void)predict_memory(small_gpt2(), {.micro_batch = 0}); },
              ThrowsMessage<UsageError>(HasSubstr("at least 1 text, got 0")));
  EXPECT_THAT([] { (void)predict_memory(small_gpt2(), {.sequence = 129}); },
              ThrowsMessage<UsageError>(HasSubstr("got 129")));
}

}  // namespace
}  // namespace sheaf::plan
