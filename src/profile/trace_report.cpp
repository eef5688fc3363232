#include "sheaf/profile/trace_report.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "collective_names.h"
#include "nanoseconds.h"

namespace sheaf::profile {
namespace {

using Events = std::vector<const TraceEvent*>;

/// The events of one rank, by kind.
struct Sorted {
  std::map<EventKind, Events> kinds;
  const Trace& trace;

  [[nodiscard]] const Events& of(EventKind kind) const {
    static const Events kNone;
    const auto found = kinds.find(kind);
    return found == kinds.end() ? kNone : found->second;
  }
  [[nodiscard]] const std::string& name(const TraceEvent& event) const {
    return trace.names[event.name];
  }
  template <class Predicate>
  [[nodiscard]] Intervals cover(EventKind kind, const Predicate& wanted) const {
    std::vector<Interval> intervals;
    for (const TraceEvent* event : of(kind)) {
      if (wanted(*event)) intervals.push_back(event->time);
    }
    return Intervals(std::move(intervals));
  }
  [[nodiscard]] Intervals cover(EventKind kind) const {
    return cover(kind, [](const TraceEvent&) { return true; });
  }
};

Sorted sort_events(const Trace& trace, int rank) {
  Sorted sorted{.kinds = {}, .trace = trace};
  for (const TraceEvent& event : trace.events) {
    if (event.rank == rank) sorted.kinds[event.kind].push_back(&event);
  }
  return sorted;
}

struct Window {
  std::int64_t steps = 1;
  Intervals time;
  /// Whether the trace says where steps are; else all of it is one.
  bool is_marked = false;

  /// Tells whether an event begins in a step: then the step did it, also where it ends later.
  [[nodiscard]] bool has(const TraceEvent& event) const {
    if (!is_marked) return true;
    const std::vector<Interval>& parts = time.parts();
    const auto next = std::ranges::upper_bound(parts, event.time.begin, {}, &Interval::begin);
    return next != parts.begin() && event.time.begin < std::prev(next)->end;
  }
};

/// The recorded steps, or all there is where none is marked.
Window window_of(const Sorted& sorted) {
  std::vector<Interval> steps;
  for (const TraceEvent* event : sorted.of(EventKind::step)) steps.push_back(event->time);
  if (steps.empty()) {
    for (const TraceEvent* event : sorted.of(EventKind::annotation)) {
      if (sorted.name(*event).starts_with("ProfilerStep#")) steps.push_back(event->time);
    }
  }
  if (!steps.empty()) {
    const auto count = static_cast<std::int64_t>(steps.size());
    return {count, Intervals(std::move(steps)), /*is_marked=*/true};
  }
  std::optional<Interval> all;
  for (const auto& [kind, events] : sorted.kinds) {
    for (const TraceEvent* event : events) {
      if (!all) all = event->time;
      all->begin = std::min(all->begin, event->time.begin);
      all->end = std::max(all->end, event->time.end);
    }
  }
  return {1, Intervals({all.value_or(Interval{})})};
}

/// What occupied a rank, by what it was.
struct Occupation {
  Intervals compute;
  Intervals communication;
  /// Copies on a GPU; waiting for data.
  Intervals other;
};

Occupation on_gpu(const Sorted& sorted) {
  const auto exchanges = [&](const TraceEvent& event) {
    return is_exchange_kernel(sorted.name(event));
  };
  const auto computes = [&](const TraceEvent& event) { return !exchanges(event); };
  return {.compute = sorted.cover(EventKind::kernel, computes),
          .communication = sorted.cover(EventKind::kernel, exchanges),
          .other = sorted.cover(EventKind::copy)};
}

/// A trace of sheaf's on the CPU.
Occupation by_phases(const Sorted& sorted) {
  const Intervals waits = sorted.cover(EventKind::wait);
  const Intervals phases = sorted.cover(EventKind::forward) | sorted.cover(EventKind::backward) |
                           sorted.cover(EventKind::optimizer);
  return {.compute = phases - waits,
          .communication = sorted.cover(EventKind::collective),
          .other = sorted.cover(EventKind::data) - waits};
}

/// A trace of others on the CPU.
Occupation by_operators(const Sorted& sorted) {
  const auto exchanges = [&](const TraceEvent& event) {
    return collective_of(sorted.name(event)).has_value();
  };
  const auto computes = [&](const TraceEvent& event) { return !exchanges(event); };
  return {.compute = sorted.cover(EventKind::operation, computes),
          .communication = sorted.cover(EventKind::operation, exchanges) |
                           sorted.cover(EventKind::annotation, exchanges),
          .other = {}};
}

bool has_phases(const Sorted& sorted) {
  return !sorted.of(EventKind::forward).empty() || !sorted.of(EventKind::optimizer).empty();
}

Occupation occupation_of(const Sorted& sorted) {
  if (!sorted.of(EventKind::kernel).empty()) return on_gpu(sorted);
  return has_phases(sorted) ? by_phases(sorted) : by_operators(sorted);
}

TraceTimes times_of(const Sorted& sorted, const Window& window) {
  Occupation occupation = occupation_of(sorted);
  for (Intervals* each : {&occupation.compute, &occupation.communication, &occupation.other}) {
    *each = *each & window.time;
  }
  const Intervals anything = occupation.compute | occupation.communication | occupation.other;
  const Intervals waits = sorted.cover(EventKind::wait);
  const auto phase = [&](EventKind kind) { return (sorted.cover(kind) & window.time) - waits; };
  return {.steps = window.steps,
          .time = seconds(window.time.length()),
          .compute = seconds(occupation.compute.length()),
          .non_compute = seconds((anything - occupation.compute).length()),
          .idle = seconds((window.time - anything).length()),
          .kernel = seconds(anything.length()),
          .optimizer = seconds(phase(EventKind::optimizer).length()),
          .data_wait = seconds((phase(EventKind::data) - occupation.communication).length()),
          .communication = seconds(occupation.communication.length()),
          .hidden = seconds((occupation.communication & occupation.compute).length())};
}

/// sheaf's own ranges where there are any, all of which are of its steps, else what the names of
/// kernels and operators tell.
std::vector<CollectiveUse> collectives_of(const Sorted& sorted, const Window& window) {
  std::vector<CollectiveUse> uses;
  const auto one = [](const TraceEvent& event) {
    return Exchanged{.calls = 1, .bytes = {event.bytes}, .time = seconds(event.time.length())};
  };
  for (const TraceEvent* event : sorted.of(EventKind::collective)) {
    exchanged_in(uses, sorted.name(*event), sorted.trace.names[event->purpose]) += one(*event);
  }
  if (!uses.empty()) return uses;
  const bool gpu = !sorted.of(EventKind::kernel).empty();
  const auto kinds = gpu ? std::vector{EventKind::kernel}
                         : std::vector{EventKind::operation, EventKind::annotation};
  for (const EventKind kind : kinds) {
    for (const TraceEvent* event : sorted.of(kind)) {
      const auto collective = collective_of(sorted.name(*event));
      if (collective && window.has(*event)) exchanged_in(uses, *collective, "") += one(*event);
    }
  }
  return uses;
}

/// Adds up operators of one thread; each one's own time is what those inside it leave.
void add_operators(Events& events, std::unordered_map<std::uint32_t, OperatorUse>& uses) {
  std::ranges::sort(events, [](const TraceEvent* a, const TraceEvent* b) {
    return a->time.begin != b->time.begin ? a->time.begin < b->time.begin
                                          : a->time.end > b->time.end;
  });
  Events around;
  for (const TraceEvent* event : events) {
    while (!around.empty() && around.back()->time.end <= event->time.begin) around.pop_back();
    const Seconds time = seconds(event->time.length());
    if (!around.empty()) uses[around.back()->name].self -= time;
    OperatorUse& use = uses[event->name];
    ++use.calls;
    use.total += time;
    use.self += time;
    around.push_back(event);
  }
}

std::vector<OperatorUse> operators_of(const Sorted& sorted, const Window& window) {
  std::map<std::int64_t, Events> threads;
  for (const EventKind kind : {EventKind::operation, EventKind::kernel}) {
    for (const TraceEvent* event : sorted.of(kind)) {
      if (window.has(*event)) threads[event->thread].push_back(event);
    }
  }
  std::unordered_map<std::uint32_t, OperatorUse> uses;
  for (auto& [thread, events] : threads) add_operators(events, uses);
  std::vector<OperatorUse> operators;
  for (auto& [name, use] : uses) {
    use.name = sorted.trace.names[name];
    operators.push_back(std::move(use));
  }
  std::ranges::sort(operators, [](const OperatorUse& a, const OperatorUse& b) {
    return a.self != b.self ? a.self > b.self : a.name < b.name;
  });
  return operators;
}

}  // namespace

double TraceTimes::compute_share() const { return time.count() > 0 ? compute / time : 0; }

std::optional<double> TraceTimes::overlap() const {
  if (communication.count() <= 0) return std::nullopt;
  return hidden / communication;
}

std::vector<RankTrace> report_on(const Trace& trace) {
  std::vector<RankTrace> ranks;
  for (const TraceOwner& owner : trace.owners) {
    const Sorted sorted = sort_events(trace, owner.rank);
    if (sorted.kinds.empty()) continue;
    const Window window = window_of(sorted);
    ranks.push_back({.owner = owner,
                     .on_gpu = !sorted.of(EventKind::kernel).empty(),
                     .times = times_of(sorted, window),
                     .collectives = collectives_of(sorted, window),
                     .operators = operators_of(sorted, window)});
  }
  return ranks;
}

}  // namespace sheaf::profile
