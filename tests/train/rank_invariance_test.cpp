// The same configuration trains the same model on any number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/small_runs.h"

namespace sheaf::train {
namespace {

// Losses differ only by the order in which fp32 sums are taken: rounding of 1e-7 that AdamW, which
// divides by the gradient's own size, amplifies from step to step.
constexpr double kLossTolerance = 2e-5;
// Evaluations are means over many more targets, in which that cancels: they differ by up to 2e-7.
constexpr double kEvaluationTolerance = 1e-6;

RunOptions with_dropout(const std::string& stage) {
  RunOptions options = small_run();
  options.shard.stage = stage;
  options.model.dropout = 0.1;
  options.model.attention_dropout = 0.1;
  options.train.evaluate_every = 1;
  return options;
}

void expect_same_run(const Recorder& one, const Recorder& many) {
  ASSERT_EQ(many.steps.size(), one.steps.size());
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    EXPECT_NEAR(many.steps[i].loss, one.steps[i].loss, kLossTolerance) << "step " << i;
    EXPECT_EQ(many.steps[i].sample_hash, one.steps[i].sample_hash) << "step " << i;
    EXPECT_EQ(many.steps[i].items, one.steps[i].items);
    EXPECT_NEAR(*many.steps[i].gradient_norm, *one.steps[i].gradient_norm, 1e-3);
  }
}

void expect_same_evaluations(const Recorder& one, const Recorder& many) {
  ASSERT_EQ(many.evaluations.size(), one.evaluations.size());
  for (std::size_t i = 0; i < one.evaluations.size(); ++i) {
    const EvaluationRecord& expected = one.evaluations[i];
    EXPECT_EQ(many.evaluations[i].step, expected.step);
    EXPECT_EQ(many.evaluations[i].items, expected.items);
    EXPECT_NEAR(many.evaluations[i].loss, expected.loss, kEvaluationTolerance) << "number " << i;
  }
}

class RankInvariance : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(RankInvariance, SameLossesSamplesAndEvaluationsAsOneRank) {
  const auto& [stage, ranks] = GetParam();
  const RunOptions options = with_dropout(stage);
  const auto one = record_run(options, 1);
  const auto many = record_run(options, ranks);
  expect_same_run(*one, *many);
  EXPECT_EQ(one->evaluations.size(), static_cast<std::size_t>(options.train.steps));
  expect_same_evaluations(*one, *many);
}

INSTANTIATE_TEST_SUITE_P(Stages,
                         RankInvariance,
                         testing::Combine(testing::Values("ddp", "zero1", "zero2", "zero3"),
                                          testing::Values(2, 3, 4)));

TEST(RankInvariance, AccumulationDoesNotChangeTheRun) {
  RunOptions options = with_dropout("zero3");
  const auto whole = record_run(options, 2);
  options.batch.micro = 1;
  const auto accumulated = record_run(options, 2);
  expect_same_run(*whole, *accumulated);
}

TEST(RankInvariance, RanksWithoutSamplesTakePart) {
  RunOptions options = small_run();
  options.batch.global = 2;
  expect_same_run(*record_run(options, 1), *record_run(options, 4));
}

TEST(RankInvariance, TheLastBatchOfAnEpochMayBeSmaller) {
  RunOptions options = small_run();
  options.data.size = 900;
  options.train.steps = 0;
  options.train.epochs = 2;
  const auto one = record_run(options, 1);
  expect_same_run(*one, *record_run(options, 3));
  EXPECT_LT(one->steps.back().items, one->steps.front().items);
}

TEST(RankInvariance, DropoutIsThere) {
  RunOptions options = with_dropout("ddp");
  const auto dropped = record_run(options, 1);
  options.model.dropout = 0;
  options.model.attention_dropout = 0;
  const auto plain = record_run(options, 1);
  EXPECT_GT(std::abs(dropped->steps[0].loss - plain->steps[0].loss), 1e-3);
}

}  // namespace
}  // namespace sheaf::train
