#include "budget.h"

#include <algorithm>
#include <unordered_map>

#include "median.h"
#include "sheaf/base/error.h"
#include "sheaf/profile/intervals.h"

namespace sheaf::bench {
namespace {

using profile::EventKind;

constexpr double kNanosecondsPerMs = 1e6;

struct Sum {
  KernelClass kind = KernelClass::other;
  std::int64_t nanoseconds = 0;
  std::int64_t calls = 0;
};

KernelClass class_of(const profile::Trace& trace, const profile::TraceEvent& event) {
  return event.kind == EventKind::copy ? KernelClass::copy
                                       : class_of_kernel(trace.names[event.name]);
}

/// Gives each class the moments that no class before it has. Returns all moments.
profile::Intervals share_moments(const std::map<KernelClass, std::vector<profile::Interval>>& runs,
                                 double per_step,
                                 Budget& budget) {
  profile::Intervals taken;
  for (const KernelClass kind : kKernelClasses) {
    const auto found = runs.find(kind);
    if (found == runs.end()) continue;
    const std::int64_t before = taken.length();
    taken = taken | profile::Intervals(found->second);
    budget.classes.at(kind).ms =
        static_cast<double>(taken.length() - before) / kNanosecondsPerMs / per_step;
  }
  return taken;
}

std::vector<profile::Interval> steps_in(const profile::Trace& trace) {
  std::vector<profile::Interval> steps;
  for (const profile::TraceEvent& event : trace.events) {
    if (event.kind == EventKind::step) steps.push_back(event.time);
  }
  if (steps.empty()) throw Error("the trace marks no steps");
  return steps;
}

/// A step ends when the device has done it, so whatever a step's mark has beside its kernels is a
/// gap. The median, since the first recorded step may pay for the recorder's start.
double median_gaps_ms(const std::vector<profile::Interval>& steps, const profile::Intervals& busy) {
  std::vector<double> gaps;
  for (const profile::Interval& step : steps) {
    const std::int64_t idle = step.length() - busy.within(step).length();
    gaps.push_back(static_cast<double>(idle) / kNanosecondsPerMs);
  }
  return median(gaps);
}

}  // namespace

Budget budget_of(const profile::Trace& trace) {
  const std::vector<profile::Interval> steps = steps_in(trace);
  const auto per_step = static_cast<double>(steps.size());
  std::unordered_map<std::uint32_t, Sum> sums;
  std::map<KernelClass, std::vector<profile::Interval>> runs;
  for (const profile::TraceEvent& event : trace.events) {
    if (event.kind != EventKind::kernel && event.kind != EventKind::copy) continue;
    Sum& sum = sums[event.name];
    sum.kind = class_of(trace, event);
    sum.nanoseconds += event.time.length();
    ++sum.calls;
    runs[sum.kind].push_back(event.time);
  }
  Budget budget;
  for (const auto& [name, sum] : sums) {
    const KernelUse kernel{
        .name = trace.names[name],
        .ms = static_cast<double>(sum.nanoseconds) / kNanosecondsPerMs / per_step,
        .calls = static_cast<double>(sum.calls) / per_step};
    ClassUse& use = budget.classes[sum.kind];
    use.running_ms += kernel.ms;
    use.calls += kernel.calls;
    use.kernels.push_back(kernel);
  }
  for (auto& [kind, use] : budget.classes) {
    std::ranges::sort(use.kernels, std::ranges::greater{}, &KernelUse::ms);
  }
  const profile::Intervals busy = share_moments(runs, per_step, budget);
  budget.busy_ms = static_cast<double>(busy.length()) / kNanosecondsPerMs / per_step;
  budget.gaps_ms = median_gaps_ms(steps, busy);
  return budget;
}

}  // namespace sheaf::bench
