#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sheaf/train/sinks.h"
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

constexpr const char* kClear = "\r\x1b[K";

/// A console whose text after the start-up page can be looked at.
class Screen {
 public:
  explicit Screen(const ConsoleOptions& options, const RunInfo& info = sample_info())
      : sink_(console_sink(out_, options)) {
    sink_->start(info);
    out_.str("");
  }
  Sink& operator*() { return *sink_; }
  Sink* operator->() { return sink_.get(); }
  void close() { sink_.reset(); }
  [[nodiscard]] std::string text() const { return out_.str(); }
  std::string take() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

 private:
  std::ostringstream out_;
  std::unique_ptr<Sink> sink_;
};

void run_steps(Sink& sink, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i <= last; ++i) sink.step(sample_step(i), sample_progress());
}

auto lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(ConsoleSink, WritesAboutTwentyPlainLines) {
  Screen screen({});
  run_steps(*screen, 1, 200);
  EXPECT_EQ(lines_of(screen.text()), 21);
  EXPECT_THAT(screen.text(), StartsWith("step   1/200"));
  EXPECT_THAT(screen.text(), HasSubstr("\nstep 190/200"));
  EXPECT_THAT(screen.text(), HasSubstr("\nstep 200/200"));
  EXPECT_THAT(screen.text(), Not(HasSubstr("\r")));
}

TEST(ConsoleSink, WritesEveryStepOfAShortRun) {
  RunInfo info = sample_info();
  info.steps = 5;
  Screen screen({}, info);
  run_steps(*screen, 1, 5);
  EXPECT_EQ(lines_of(screen.text()), 5);
}

TEST(ConsoleSink, WritesAsOftenAsAsked) {
  Screen screen({.every = 100});
  run_steps(*screen, 1, 200);
  EXPECT_EQ(lines_of(screen.text()), 3);
}

TEST(ConsoleSink, WritesSkippedSteps) {
  Screen screen({.every = 100});
  StepRecord step = sample_step(3);
  run_steps(*screen, 1, 2);
  step.skipped = true;
  screen->step(step, sample_progress());
  EXPECT_THAT(screen.text(), HasSubstr("step   3/200"));
}

TEST(ConsoleSink, RewritesOneLineOnATerminal) {
  Screen screen({.live = true, .columns = 60});
  screen->step(sample_step(1), {.elapsed = Seconds(1)});
  EXPECT_THAT(screen.take(), StartsWith(kClear));
  screen->step(sample_step(2), {.elapsed = Seconds(2)});
  EXPECT_THAT(screen.text(), StartsWith(kClear));
  EXPECT_THAT(screen.text(), HasSubstr("  2/200"));
  EXPECT_EQ(lines_of(screen.text()), 0);
}

TEST(ConsoleSink, DoesNotRewriteMoreOftenThanEyesSee) {
  Screen screen({.live = true});
  screen->step(sample_step(1), {.elapsed = Seconds(1)});
  screen.take();
  screen->step(sample_step(2), {.elapsed = Seconds(1.05)});
  EXPECT_EQ(screen.take(), "");
  screen->step(sample_step(3), {.elapsed = Seconds(1.15)});
  EXPECT_THAT(screen.take(), HasSubstr("3/200"));
  screen->step(sample_step(200), {.elapsed = Seconds(1.16)});
  EXPECT_THAT(screen.take(), HasSubstr("200/200"));
}

TEST(ConsoleSink, ClearsTheLineBeforeOtherText) {
  Screen screen({.live = true});
  run_steps(*screen, 1, 1);
  screen.take();
  screen->evaluation(testing::sample_evaluation());
  EXPECT_THAT(screen.take(),
              StartsWith(std::string(kClear) + "evaluation at step 100: loss 2.0000"));
  screen->sample(7, "x");
  EXPECT_EQ(screen.take(), "sample at step 7:\n    x\n");
  run_steps(*screen, 2, 2);
  screen.take();
  screen->end(testing::sample_summary());
  EXPECT_THAT(screen.take(), StartsWith(std::string(kClear) + "\nDone: 200 steps"));
  screen.close();
  EXPECT_EQ(screen.text(), "");
}

TEST(ConsoleSink, EndsTheLineOfARunThatFailed) {
  Screen screen({.live = true});
  run_steps(*screen, 1, 1);
  screen.close();
  EXPECT_THAT(screen.text(), EndsWith("left\n"));
}

TEST(ConsoleSink, EscapesSamples) {
  Screen screen({});
  screen->sample(1000, "a\nb\x1b[2J");
  EXPECT_EQ(screen.text(), "sample at step 1,000:\n    a\n    b\\u001B[2J\n");
}

TEST(ConsoleSink, GoesOnWithoutItsTerminal) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const auto sink = console_sink(out, {});
  sink->start(sample_info());
  EXPECT_NO_THROW(run_steps(*sink, 1, 2));
}

}  // namespace
}  // namespace sheaf::train
