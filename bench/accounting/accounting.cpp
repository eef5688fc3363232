// What does it cost to account for every step?
//
//   build/bench/accounting [--pairs 30] [--steps 25]
//
// First what one event costs, and how many a step has. Then whole runs of two processes, in pairs
// with accounting on and off, whose order alternates: how much longer does a step take with it? The
// interval is that of the mean difference, 95 %.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "median.h"
#include "outcomes.h"
#include "run_program.h"
#include "sheaf/base/recorder.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/profile/account.h"
#include "sheaf/train/trainer.h"

namespace {

using Clock = std::chrono::steady_clock;
using sheaf::Recorder;
using sheaf::ScopedSpan;
using sheaf::Span;
using sheaf::SpanKind;
using sheaf::comm::Group;
namespace train = sheaf::train;

constexpr int kRanks = 2;
constexpr std::size_t kWarmUp = 5;
constexpr int kEvents = 100'000;

/// Notes when each step was over.
class Stamps final : public train::Sink {
 public:
  void start(const train::RunInfo&) override { times_.clear(); }
  void step(const train::StepRecord& step, const train::Progress&) override {
    times_.push_back(Clock::now());
    events_ = 4;
    for (const auto& use : step.collectives) events_ += 2 * use.exchanged.calls;
    events_ += 2 * static_cast<std::int64_t>(step.units.size());
  }
  void evaluation(const train::EvaluationRecord&) override {}
  void sample(std::int64_t, const std::string&) override {}
  void end(const train::Summary&) override {}

  /// Returns the median after the warm-up, from the end of one step to that of the next. What
  /// accounting costs is in every step; what else a machine does is in some, and a mean has all of
  /// it.
  [[nodiscard]] double milliseconds_per_step() const {
    std::vector<double> steps;
    for (std::size_t i = kWarmUp; i < times_.size(); ++i) {
      steps.push_back(std::chrono::duration<double, std::milli>(times_[i] - times_[i - 1]).count());
    }
    return sheaf::bench::median(steps);
  }
  /// Returns the events of the last step: an exchange and the wait for it, units both ways, phases.
  [[nodiscard]] std::int64_t events() const { return events_; }

 private:
  std::vector<Clock::time_point> times_;
  std::int64_t events_ = 0;
};

train::RunOptions run_options(bool accounting, std::int64_t steps) {
  train::RunOptions options;
  options.model.preset = "gpt2-tiny";
  options.model.context = 128;
  options.data.source = sheaf::data::Source::stories;
  options.data.size = 200'000;
  options.batch.global = 8;
  options.train.steps = steps;
  options.train.sample_tokens = 0;
  options.train.evaluate = false;
  options.profile.accounting = accounting;
  return options;
}

/// Returns the nanoseconds of one span that is recorded, or not because nobody listens.
double cost_of_event(bool listening) {
  Recorder recorder;
  recorder.listen(listening);
  std::vector<double> rounds;
  for (int round = 0; round < 7; ++round) {
    const std::int64_t began = Recorder::now();
    for (int i = 0; i < kEvents; ++i) {
      const ScopedSpan span(recorder, {.kind = SpanKind::wait});
    }
    rounds.push_back(static_cast<double>(Recorder::now() - began) / kEvents);
    static_cast<void>(recorder.take());
  }
  return sheaf::bench::median(rounds);
}

/// Returns the nanoseconds per event that adding up a step of so many takes.
double cost_of_adding_up(std::int64_t events) {
  const Recorder recorder;
  std::vector<Span> spans;
  for (std::int64_t i = 0; i < events; ++i) {
    const auto kind = static_cast<SpanKind>(i % (static_cast<int>(SpanKind::wait) + 1));
    spans.push_back({.kind = kind, .begin = 100 * i, .end = 100 * i + 150});
  }
  std::vector<double> rounds;
  for (int round = 0; round < 101; ++round) {
    const std::int64_t began = Recorder::now();
    static_cast<void>(sheaf::profile::account(spans, {0, 100 * events + 150}, recorder));
    rounds.push_back(static_cast<double>(Recorder::now() - began) / static_cast<double>(events));
  }
  return sheaf::bench::median(rounds);
}

struct Interval {
  double mean = 0;
  double half = 0;
};

/// Of the mean of what was drawn; Student's t for 29 degrees of freedom, near enough for more.
Interval confidence(const std::vector<double>& values) {
  constexpr double kStudent = 2.045;
  const auto count = static_cast<double>(values.size());
  Interval result;
  for (const double value : values) result.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.half = kStudent * std::sqrt(squares / (count - 1) / count);
  return result;
}

void show_events(double step_ms, std::int64_t events) {
  const double on = cost_of_event(true);
  const double adding_up = cost_of_adding_up(events);
  const double all = static_cast<double>(events) * (on + adding_up);
  std::cout << fmt::format(
                   "one event: {:.0f} ns recorded, {:.1f} ns when nobody listens, {:.0f} ns to add "
                   "up\na step: {} events x {:.0f} ns = {:.1f} us, {:.3f} % of {:.1f} ms\n\n",
                   on,
                   cost_of_event(false),
                   adding_up,
                   events,
                   on + adding_up,
                   all / 1e3,
                   100 * all / 1e6 / step_ms,
                   step_ms)
            << std::flush;
}

void show_pairs(const Group& group, int pairs, std::int64_t steps) {
  const auto stamps = std::make_shared<Stamps>();
  const auto run = [&](bool accounting) {
    const train::Hooks hooks{.sinks = {stamps}};
    static_cast<void>(train::run(run_options(accounting, steps), group, hooks));
    return group.rank() == 0 ? stamps->milliseconds_per_step() : 0;
  };
  const double first = run(true);
  if (group.rank() == 0) show_events(first, stamps->events());
  std::vector<double> on, off, percent;
  for (int pair = 0; pair < pairs; ++pair) {
    const bool on_first = pair % 2 == 0;
    const double one = run(on_first);
    const double other = run(!on_first);
    on.push_back(on_first ? one : other);
    off.push_back(on_first ? other : one);
    percent.push_back(100 * (on.back() - off.back()) / off.back());
  }
  if (group.rank() != 0) return;
  const Interval cost = confidence(percent);
  std::cout << fmt::format(
                   "{} pairs of {} steps: {:.3f} ms with, {:.3f} ms without (medians)\n"
                   "cost {:+.2f} % of a step, 95 % between {:+.2f} and {:+.2f} %\n",
                   pairs,
                   steps,
                   sheaf::bench::median(on),
                   sheaf::bench::median(off),
                   cost.mean,
                   cost.mean - cost.half,
                   cost.mean + cost.half)
            << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  int pairs = 30;
  std::int64_t steps = 25;
  const auto declare = [&](sheaf::cli::OptionSet& set) {
    set.value("pairs", pairs, "pairs of runs", sheaf::at_least(2));
    set.value("steps", steps, "steps of a run", sheaf::at_least(8));
  };
  return sheaf::bench::run_program(
      argc, argv, "tell what it costs to account for every step", declare, [&] {
        const auto body = [&](const Group& group) { show_pairs(group, pairs, steps); };
        return sheaf::bench::all_went_well(sheaf::comm::run_ranks_forked(kRanks, body)) ? 0 : 1;
      });
}
