#include "study/gains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/toml.h"

namespace sheaf::study {
namespace {

using ::testing::ElementsAre;

train::RunOptions small_run() {
  train::RunOptions run;
  run.model.preset = "gpt2-tiny";
  run.batch.global = 8;
  return run;
}

std::string text_of(train::RunOptions run) { return write_toml(fields_of(run)); }

TEST(GainSteps, AddOneThingAfterTheOther) {
  std::vector<std::string> names;
  for (const GainStep& step : gain_steps(small_run(), 2, 4)) names.push_back(step.name);
  EXPECT_THAT(
      names,
      ElementsAre("start", "batch", "attention kernel", "fused layers", "overlap", "accumulation"));
}

TEST(GainSteps, MayTakeMoreMemoryThanTheSweep) {
  train::RunOptions run = small_run();
  run.memory.limit = mebibytes(256);
  for (const GainStep& step : gain_steps(run, 2, 4)) {
    EXPECT_EQ(step.options.memory.limit.count, 0) << step.name;
  }
}

TEST(GainSteps, HaveNoFusedLayersWhereThereAreNone) {
  train::RunOptions run = small_run();
  run.model.fused = nn::Fused::none();
  for (const GainStep& step : gain_steps(run, 2, 4)) EXPECT_NE(step.name, "fused layers");
}

TEST(GainSteps, DifferFromTheOneBefore) {
  const auto steps = gain_steps(small_run(), 2, 4);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_NE(text_of(steps[i].options), text_of(steps[i - 1].options)) << steps[i].name;
  }
}

TEST(GainSteps, EndWithTheRunItselfAndMorePasses) {
  const train::RunOptions run = small_run();
  train::RunOptions last = gain_steps(run, 2, 4).back().options;
  EXPECT_EQ(last.batch.micro, 4);
  EXPECT_GT(last.batch.global, 4 * 2);
  last.batch = run.batch;
  EXPECT_EQ(text_of(last), text_of(run));
}

TEST(GainSteps, HaveNoOverlapOnOneRank) {
  for (const GainStep& step : gain_steps(small_run(), 1, 4)) EXPECT_NE(step.name, "overlap");
}

}  // namespace
}  // namespace sheaf::study
