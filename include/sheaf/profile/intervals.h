#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::profile {

/// The time from `begin` up to but not including `end`; none where that is not later.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end > begin ? end - begin : 0; }
  bool operator==(const Interval&) const = default;
};

/// A set of moments. Pure arithmetic: any number of intervals that overlap or not become the few
/// that cover the same moments once.
class Intervals {
 public:
  Intervals() = default;
  /// Takes intervals in any order; empty ones are left out.
  explicit Intervals(std::vector<Interval> any);

  /// Returns them sorted, neither empty nor touching each other.
  [[nodiscard]] const std::vector<Interval>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  /// Returns how long they are together; what was covered twice counts once.
  [[nodiscard]] std::int64_t length() const;
  /// Returns what is inside of `window`.
  [[nodiscard]] Intervals within(const Interval& window) const;

  friend Intervals operator|(const Intervals& a, const Intervals& b);
  friend Intervals operator&(const Intervals& a, const Intervals& b);
  friend Intervals operator-(const Intervals& a, const Intervals& b);
  bool operator==(const Intervals&) const = default;

 private:
  std::vector<Interval> parts_;
};

}  // namespace sheaf::profile
