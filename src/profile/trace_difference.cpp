#include "sheaf/profile/trace_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace sheaf::profile {
namespace {

/// One side of a comparison.
struct Side {
  std::int64_t calls = 0;
  Bytes bytes;
  Seconds time{0};
};

struct Steps {
  std::int64_t before = 1;
  std::int64_t after = 1;
};

using Sides = std::map<std::string, std::pair<Side, Side>>;

/// Tells whether both are as many per step; products of counts and steps may be too large.
bool same_per_step(std::int64_t before, std::int64_t after, const Steps& steps) {
  return before / steps.before == after / steps.after &&
         before % steps.before * steps.after == after % steps.after * steps.before;
}

Change change_of(const Side& before, const Side& after, const Steps& steps) {
  if (before.calls == 0) return Change::added;
  if (after.calls == 0) return Change::removed;
  const bool same = same_per_step(before.calls, after.calls, steps) &&
                    same_per_step(before.bytes.count, after.bytes.count, steps);
  return same ? Change::same : Change::changed;
}

std::vector<Difference> differences_of(const Sides& sides, const Steps& steps) {
  std::vector<Difference> rows;
  for (const auto& [name, pair] : sides) {
    const auto& [before, after] = pair;
    rows.push_back({.name = name,
                    .change = change_of(before, after, steps),
                    .calls_before = before.calls,
                    .calls_after = after.calls,
                    .bytes_before = before.bytes,
                    .bytes_after = after.bytes,
                    .before = before.time,
                    .after = after.time});
  }
  const auto weight = [&](const Difference& row) {
    return std::abs((row.after / static_cast<double>(steps.after) -
                     row.before / static_cast<double>(steps.before))
                        .count());
  };
  std::ranges::stable_sort(rows, std::ranges::greater(), weight);
  return rows;
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::added:
      return "new";
    case Change::removed:
      return "removed";
    case Change::changed:
      return "changed";
    case Change::same:
      break;
  }
  return "same";
}

TraceDifference difference(const RankTrace& before, const RankTrace& after) {
  const Steps steps{before.times.steps, after.times.steps};
  Sides operators;
  for (const OperatorUse& use : before.operators) {
    operators[use.name].first = {.calls = use.calls, .bytes = {}, .time = use.self};
  }
  for (const OperatorUse& use : after.operators) {
    operators[use.name].second = {.calls = use.calls, .bytes = {}, .time = use.self};
  }
  Sides collectives;
  const auto side_of = [](const CollectiveUse& use) {
    return Side{use.exchanged.calls, use.exchanged.bytes, use.exchanged.time};
  };
  const auto name_of = [](const CollectiveUse& use) {
    return use.purpose.empty() ? use.collective : use.collective + " " + use.purpose;
  };
  for (const CollectiveUse& use : before.collectives) {
    collectives[name_of(use)].first = side_of(use);
  }
  for (const CollectiveUse& use : after.collectives) {
    collectives[name_of(use)].second = side_of(use);
  }
  return {.steps_before = steps.before,
          .steps_after = steps.after,
          .collectives = differences_of(collectives, steps),
          .operators = differences_of(operators, steps)};
}

}  // namespace sheaf::profile
