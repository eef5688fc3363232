#include "sheaf/data/interleaving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sheaf/base/error.h"

// Note [Drawing by weight]
// The first source has the places at which floor(p n + 1/2), where p is its share of all, goes up
// by one as n does; so the number of its draws before any place is known without counting them.
// What it leaves is a row of places again, whose first source is the next one, and the last source
// takes what is left at the end. Shares are fixed-point numbers: all of this is exact, and the same
// on every machine.

namespace sheaf::data {
namespace {

constexpr double kWhole = 0x1p32;

void check(std::span<const double> weights) {
  for (const double weight : weights) {
    if (std::isfinite(weight) && weight >= 0) continue;
    throw UsageError(
        fmt::format("a weight must be a finite number and at least 0, got {}", weight));
  }
  if (std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; })) return;
  throw UsageError(
      fmt::format("one weight at least must be above 0, got {} without one", weights.size()));
}

/// Returns floor(places * share / 2^32 + 1/2); no product needs more than 64 bits.
std::int64_t draws_in(std::int64_t places, std::uint64_t share) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  const auto n = static_cast<std::uint64_t>(places);
  const std::uint64_t low = (n & 0xffffffff) * share + kHalf;
  return static_cast<std::int64_t>((n >> 32) * share + (low >> 32));
}

}  // namespace

Interleaving::Interleaving(std::span<const double> weights) {
  check(weights);
  const double largest = *std::max_element(weights.begin(), weights.end());
  shares_.resize(weights.size() - 1);
  double rest = weights.back() / largest;
  for (std::size_t i = shares_.size(); i-- > 0;) {
    const double weight = weights[i] / largest;
    rest += weight;
    if (rest > 0) shares_[i] = static_cast<std::uint64_t>(std::llround(weight / rest * kWhole));
  }
}

Draw Interleaving::at(std::int64_t place) const {
  for (std::size_t source = 0; source < shares_.size(); ++source) {
    const std::int64_t before = draws_in(place, shares_[source]);
    if (draws_in(place + 1, shares_[source]) > before) return {source, before};
    place -= before;
  }
  return {shares_.size(), place};
}

}  // namespace sheaf::data
