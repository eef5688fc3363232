#include "train/step_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "train/printable.h"
#include "train/sample_run.h"

namespace sheaf::train {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_info;
using testing::sample_progress;
using testing::sample_step;
using ::testing::StartsWith;

std::string live(int columns, const StepRecord& step = sample_step(100)) {
  return live_step_line(sample_info(), step, sample_progress(), columns);
}

TEST(PlainStepLine, HasEveryNumberWithItsUnit) {
  EXPECT_EQ(plain_step_line(sample_info(), sample_step(7), sample_progress()),
            "step   7/200  loss   2.5000      2,000 tokens/s  MFU 40.0 %  compute 66.0 %"
            "  exposed 10.0 %  memory 768.0 MiB      30 s left");
}

TEST(PlainStepLine, LeavesOutWhatIsUnknown) {
  RunInfo info = sample_info();
  info.steps = 0;
  EXPECT_EQ(plain_step_line(info, {.step = 7, .loss = 1}, {.items_per_second = 5}),
            "step 7  loss   1.0000       5.00 tokens/s");
}

TEST(PlainStepLine, LeavesOutExchangesWhereThereAreNone) {
  StepRecord step = sample_step(7);
  step.phases.exposed_communication = step.phases.hidden_communication = Seconds(0);
  EXPECT_THAT(plain_step_line(sample_info(), step, sample_progress()), Not(HasSubstr("exposed")));
}

TEST(PlainStepLine, HasTheCostSoFarWhereThereIsAPrice) {
  Progress progress = sample_progress();
  progress.cost = 12.5;
  EXPECT_THAT(plain_step_line(sample_info(), sample_step(7), progress),
              EndsWith("memory 768.0 MiB  cost   12.50      30 s left"));
}

TEST(PlainStepLine, SaysThatAStepWasSkipped) {
  StepRecord step = sample_step(7);
  step.skipped = true;
  step.loss = NAN;
  const auto line = plain_step_line(sample_info(), step, sample_progress());
  EXPECT_THAT(line, HasSubstr("loss      nan"));
  EXPECT_THAT(line, EndsWith("skipped: gradients overflowed"));
}

TEST(LiveStepLine, HasABarThatIsAsFarAsTheRun) {
  const auto line = live(200);
  std::string half_done;
  for (int i = 0; i < 16; ++i) half_done += "\u2501";
  for (int i = 0; i < 16; ++i) half_done += "\u2500";
  EXPECT_EQ(line,
            half_done +
                "  100/200  loss 2.5000  2,000 tokens/s  MFU 40.0 %  compute 66.0 %  exposed 10.0 %"
                "  768.0 MiB  30 s left");
}

TEST(LiveStepLine, NeverReachesTheLastColumn) {
  for (int columns = 0; columns < 130; ++columns) {
    EXPECT_LE(width_of(live(columns)), static_cast<std::size_t>(std::max(0, columns - 1)));
  }
}

TEST(LiveStepLine, LeavesOutWhatMattersLeast) {
  EXPECT_THAT(live(90), Not(HasSubstr("exposed")));
  EXPECT_THAT(live(90), HasSubstr("MiB"));
  EXPECT_THAT(live(80), Not(HasSubstr("MiB")));
  EXPECT_THAT(live(80), HasSubstr("MFU 40.0 %"));
  EXPECT_THAT(live(60), Not(HasSubstr("MFU")));
  EXPECT_THAT(live(60), HasSubstr("30 s left"));
  EXPECT_THAT(live(40), StartsWith("\u2501"));
  EXPECT_THAT(live(40), EndsWith("100/200  loss 2.5000"));
  EXPECT_EQ(live(8), "100/200");
  EXPECT_EQ(live(5), "100/");
}

TEST(LiveStepLine, KeepsTheCostSoFarLongerThanTheMemory) {
  Progress progress = sample_progress();
  progress.cost = 12.5;
  const auto with_cost = [&](int columns) {
    return live_step_line(sample_info(), sample_step(100), progress, columns);
  };
  EXPECT_THAT(with_cost(200), EndsWith("768.0 MiB  cost 12.50  30 s left"));
  EXPECT_THAT(with_cost(85), EndsWith("MFU 40.0 %  cost 12.50  30 s left"));
}

TEST(LiveStepLine, HasNoBarWithoutAnEnd) {
  RunInfo info = sample_info();
  info.steps = 0;
  EXPECT_THAT(live_step_line(info, sample_step(100), sample_progress(), 100),
              StartsWith("100  loss 2.5000"));
}

TEST(LiveStepLine, SaysThatAStepWasSkipped) {
  StepRecord step = sample_step(100);
  step.skipped = true;
  EXPECT_THAT(live(40, step), HasSubstr("skipped"));
}

TEST(EvaluationText, HasPerplexityForTextsAndAccuracyForImages) {
  EvaluationRecord evaluation = testing::sample_evaluation();
  EXPECT_EQ(evaluation_text(sample_info(), evaluation),
            "loss 2.0000, perplexity 7.389, 5,000 tokens in 1.5 s");
  evaluation.accuracy = 0.9712;
  RunInfo info = sample_info();
  info.item_name = "images";
  EXPECT_EQ(evaluation_text(info, evaluation),
            "loss 2.0000, accuracy 97.1 %, 5,000 images in 1.5 s");
}

}  // namespace
}  // namespace sheaf::train
