#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sheaf/data/interleaving.h"

namespace sheaf::data {

/// How far training has come through the data; the same on all ranks, whatever their number.
struct Position {
  std::int64_t epoch = 0;
  /// Samples of this epoch that are done.
  std::int64_t done = 0;

  bool operator==(const Position&) const = default;
};

/// Samples that are shuffled for themselves, epoch by epoch.
struct DataPart {
  /// At least 1.
  std::int64_t size = 0;
  /// How often it is drawn from, compared with other parts.
  double weight = 1;
};

/// The order in which samples are seen: a permutation per epoch that is computed, not stored, from
/// (seed, epoch, index). Nothing in it knows of ranks.
///
/// Of several parts, each has epochs of its own, in which all of its samples come once; they are
/// drawn from as an Interleaving of their weights says. An epoch of the whole is as many draws as
/// there are samples.
class Order {
 public:
  /// `size` samples, at least 1; not shuffled: 0, 1, 2 and so on in every epoch. Throws UsageError.
  Order(std::int64_t size, std::uint64_t seed, bool shuffle);
  /// The samples of the first part have the numbers 0 and on, those of the next one follow. Throws
  /// UsageError for an empty part and weights that an Interleaving refuses.
  Order(std::span<const DataPart> parts, std::uint64_t seed, bool shuffle);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Returns the sample at place `index` of an epoch.
  [[nodiscard]] std::int64_t at(std::int64_t epoch, std::int64_t index) const;

 private:
  struct Part {
    /// Number of its first sample.
    std::int64_t first = 0;
    std::int64_t size = 0;
    std::uint64_t seed = 0;
    /// Places are shuffled as cells of a table with about as many rows as columns.
    std::uint64_t rows = 1;
    std::uint64_t columns = 1;

    [[nodiscard]] std::int64_t shuffled(std::int64_t epoch, std::int64_t index) const;
  };

  std::int64_t size_ = 0;
  bool shuffle_;
  std::vector<Part> parts_;
  Interleaving interleaving_;
};

/// What one rank has of a global batch: places [first, first + count) of it. With a batch that does
/// not divide evenly the first ranks have one more; count may be 0.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const Share&) const = default;
};
/// Throws UsageError for a negative batch or a rank that is none of `ranks`.
[[nodiscard]] Share share_of(std::int64_t batch, int rank, int ranks);

/// Returns a fingerprint of the samples at places first, first + 1 and so on of a global batch.
/// Those of all shares add up (modulo 2^64) to that of the whole batch, so ranks can compare what
/// they see with one sum over int64 and without a gather.
[[nodiscard]] std::uint64_t sample_hash(std::span<const std::int64_t> samples, std::int64_t first);

}  // namespace sheaf::data
