#include "train/allocator_history.h"

#include <algorithm>

namespace sheaf::train {
namespace {

AllocatorMoment before(const std::vector<AllocatorMoment>& changes, AllocatorMoment end) {
  for (const AllocatorMoment& change : changes) {
    end.in_use.count -= change.in_use.count;
    end.reserved.count -= change.reserved.count;
  }
  return end;
}

}  // namespace

std::vector<AllocatorMoment> replayed(const std::vector<AllocatorMoment>& changes,
                                      const AllocatorMoment& end,
                                      std::size_t num_spans) {
  if (changes.empty() || num_spans == 0) return {};
  const Seconds first = changes.front().time;
  const Seconds span = (changes.back().time - first) / static_cast<double>(num_spans);
  AllocatorMoment now = before(changes, end);
  std::vector<AllocatorMoment> moments;
  auto change = changes.begin();
  for (std::size_t i = 0; i < num_spans; ++i) {
    now.time = span * static_cast<double>(i);
    AllocatorMoment highest = now;
    const bool is_last = i + 1 == num_spans;
    const Seconds until = first + span * static_cast<double>(i + 1);
    for (; change != changes.end() && (is_last || change->time < until); ++change) {
      now.time = change->time - first;
      now.in_use.count += change->in_use.count;
      now.reserved.count += change->reserved.count;
      if (now.in_use > highest.in_use) highest = now;
      highest.reserved = std::max(highest.reserved, now.reserved);
    }
    moments.push_back(highest);
  }
  return moments;
}

}  // namespace sheaf::train
