#include "sheaf/data/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "data/mix.h"
#include "sheaf/base/error.h"

// Note [Shuffling without a list]
// A place is a cell (row, column) of a table that has at least `size` cells. A round adds to the
// row something that depends on the column only, and then the other way round: each can be undone,
// so a number of them (a Feistel network) is a permutation of the cells. The table has fewer than
// one row of cells too many; a place that lands on one of those goes through the rounds again until
// it lands on a sample, which it does because it would otherwise come back to where it began.

namespace sheaf::data {
namespace {

constexpr std::size_t kRounds = 4;

std::uint64_t number_of_columns(std::int64_t size) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size)));
  while (root * root < static_cast<std::uint64_t>(size)) ++root;
  return std::max<std::uint64_t>(root, 1);
}

/// Moves `value` within 0 to `count` - 1 by what `other` says.
std::uint64_t moved(std::uint64_t value, std::uint64_t count, std::uint64_t other_mixed) {
  value += below(count, other_mixed);
  return value < count ? value : value - count;
}

std::vector<double> weights_of(std::span<const DataPart> parts) {
  std::vector<double> weights;
  weights.reserve(parts.size());
  for (const DataPart& part : parts) weights.push_back(part.weight);
  return weights;
}

}  // namespace

Order::Order(std::int64_t size, std::uint64_t seed, bool shuffle)
    : Order(std::array{DataPart{.size = size}}, seed, shuffle) {}

Order::Order(std::span<const DataPart> parts, std::uint64_t seed, bool shuffle)
    : shuffle_(shuffle), interleaving_(weights_of(parts)) {
  for (const auto& [size, weight] : parts) {
    if (size < 1) throw UsageError(fmt::format("an order needs at least 1 sample, got {}", size));
    const std::uint64_t columns = number_of_columns(size);
    // The first part is shuffled as it would be alone.
    const std::uint64_t own_seed = parts_.empty() ? seed : mix(~seed, parts_.size());
    parts_.push_back({.first = size_,
                      .size = size,
                      .seed = own_seed,
                      .rows = (static_cast<std::uint64_t>(size) + columns - 1) / columns,
                      .columns = columns});
    size_ += size;
  }
}

std::int64_t Order::at(std::int64_t epoch, std::int64_t index) const {
  if (epoch < 0 || index < 0 || index >= size_) {
    throw UsageError(fmt::format(
        "an epoch has the places 0 to {}, got place {} of epoch {}", size_ - 1, index, epoch));
  }
  const auto [source, number] = interleaving_.at(epoch * size_ + index);
  const Part& part = parts_[source];
  const std::int64_t place = number % part.size;
  return part.first + (shuffle_ ? part.shuffled(number / part.size, place) : place);
}

std::int64_t Order::Part::shuffled(std::int64_t epoch, std::int64_t index) const {
  std::array<std::uint64_t, 2 * kRounds> keys{};
  const std::uint64_t key = mix(seed, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix(key, i);

  auto cell = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t row = cell / columns;
    std::uint64_t column = cell % columns;
    for (std::size_t i = 0; i < keys.size(); i += 2) {
      row = moved(row, rows, mix(keys[i], column));
      column = moved(column, columns, mix(keys[i + 1], row));
    }
    cell = row * columns + column;
  } while (cell >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(cell);
}

Share share_of(std::int64_t batch, int rank, int ranks) {
  if (batch < 0 || rank < 0 || rank >= ranks) {
    throw UsageError(fmt::format(
        "no share of a batch of {} samples for rank {} of {} ranks", batch, rank, ranks));
  }
  const std::int64_t each = batch / ranks;
  const std::int64_t more = batch % ranks;
  return {.first = rank * each + std::min<std::int64_t>(rank, more),
          .count = each + (rank < more ? 1 : 0)};
}

std::uint64_t sample_hash(std::span<const std::int64_t> samples, std::int64_t first) {
  std::uint64_t sum = 0;
  auto place = static_cast<std::uint64_t>(first);
  for (const std::int64_t sample : samples) {
    sum += mix(place, static_cast<std::uint64_t>(sample));
    ++place;
  }
  return sum;
}

}  // namespace sheaf::data
