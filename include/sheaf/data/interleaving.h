#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::data {

/// What stands at a place: a source, and how many draws from it came before.
struct Draw {
  std::size_t source = 0;
  std::int64_t number = 0;

  bool operator==(const Draw&) const = default;
};

/// An endless row of draws from sources, each as often as its weight says: up to any place a source
/// has been drawn its share of times, give or take fewer draws than there are sources. Pure
/// arithmetic: any place can be asked for, nothing is remembered.
class Interleaving {
 public:
  /// Throws UsageError unless the weights are finite numbers from 0 on, and one is above 0. What
  /// counts is how they compare.
  explicit Interleaving(std::span<const double> weights);

  /// Returns what stands at a place, counted from 0.
  [[nodiscard]] Draw at(std::int64_t place) const;

 private:
  /// Of each source but the last: its share of what the sources before it leave, in units of 2^-32.
  std::vector<std::uint64_t> shares_;
};

}  // namespace sheaf::data
