#include "budget.h"

#include <algorithm>
#include <unordered_map>

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

}  // namespace

double Budget::hidden_ms() const {
  double sum = 0;
  for (const auto& [kind, use] : classes) sum += use.ms;
  return std::max(0.0, sum - busy_ms);
}

double Budget::gaps_ms(double step_ms) const { return std::max(0.0, step_ms - busy_ms); }

Budget budget_of(const profile::Trace& trace, std::int64_t steps) {
  const double per_step = static_cast<double>(steps);
  std::unordered_map<std::uint32_t, Sum> sums;
  std::vector<profile::Interval> busy;
  for (const profile::TraceEvent& event : trace.events) {
    if (event.kind != EventKind::kernel && event.kind != EventKind::copy) continue;
    Sum& sum = sums[event.name];
    sum.kind = event.kind == EventKind::copy ? KernelClass::copy
                                             : class_of_kernel(trace.names[event.name]);
    sum.nanoseconds += event.time.length();
    ++sum.calls;
    busy.push_back(event.time);
  }
  Budget budget;
  for (const auto& [name, sum] : sums) {
    const KernelUse kernel{
        .name = trace.names[name],
        .ms = static_cast<double>(sum.nanoseconds) / kNanosecondsPerMs / per_step,
        .calls = static_cast<double>(sum.calls) / per_step};
    ClassUse& use = budget.classes[sum.kind];
    use.ms += kernel.ms;
    use.calls += kernel.calls;
    use.kernels.push_back(kernel);
  }
  for (auto& [kind, use] : budget.classes) {
    std::ranges::sort(use.kernels, std::ranges::greater{}, &KernelUse::ms);
  }
  const auto covered = static_cast<double>(profile::Intervals(std::move(busy)).length());
  budget.busy_ms = covered / kNanosecondsPerMs / per_step;
  return budget;
}

}  // namespace sheaf::bench
