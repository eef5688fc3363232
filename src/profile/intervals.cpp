#include "sheaf/profile/intervals.h"

#include <algorithm>
#include <utility>

namespace sheaf::profile {

Intervals::Intervals(std::vector<Interval> any) {
  std::erase_if(any, [](const Interval& each) { return each.length() == 0; });
  std::ranges::sort(any, {}, &Interval::begin);
  for (const Interval& each : any) {
    if (!parts_.empty() && each.begin <= parts_.back().end) {
      parts_.back().end = std::max(parts_.back().end, each.end);
    } else {
      parts_.push_back(each);
    }
  }
}

std::int64_t Intervals::length() const {
  std::int64_t sum = 0;
  for (const Interval& part : parts_) sum += part.length();
  return sum;
}

Intervals Intervals::within(const Interval& window) const { return *this & Intervals({window}); }

Intervals operator|(const Intervals& a, const Intervals& b) {
  std::vector<Interval> both = a.parts_;
  both.insert(both.end(), b.parts_.begin(), b.parts_.end());
  return Intervals(std::move(both));
}

Intervals operator&(const Intervals& a, const Intervals& b) {
  Intervals common;
  auto left = a.parts_.begin();
  auto right = b.parts_.begin();
  while (left != a.parts_.end() && right != b.parts_.end()) {
    const Interval shared{std::max(left->begin, right->begin), std::min(left->end, right->end)};
    if (shared.length() > 0) common.parts_.push_back(shared);
    // The one that ends first cannot meet anything more.
    (left->end < right->end ? left : right)++;
  }
  return common;
}

Intervals operator-(const Intervals& a, const Intervals& b) {
  Intervals rest;
  auto hole = b.parts_.begin();
  for (Interval part : a.parts_) {
    while (hole != b.parts_.end() && hole->end <= part.begin) ++hole;
    for (auto cut = hole; cut != b.parts_.end() && cut->begin < part.end; ++cut) {
      if (cut->begin > part.begin) rest.parts_.push_back({part.begin, cut->begin});
      part.begin = std::max(part.begin, cut->end);
    }
    if (part.length() > 0) rest.parts_.push_back(part);
  }
  return rest;
}

}  // namespace sheaf::profile
