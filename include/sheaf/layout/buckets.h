#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf::layout {

struct BucketOptions {
  /// A bucket is closed when it has reached this size.
  Bytes cap{25 << 20};
  /// The same for the first one: small, so that its exchange starts early.
  Bytes first_cap{1 << 20};
};

/// Groups things of the given sizes, in the given order, into buckets; returns the indices in each.
/// A bucket takes members until it has reached its cap, so the last one may carry it far beyond;
/// only the last bucket may stay below. This is how DistributedDataParallel fills its buckets.
/// Throws UsageError if a cap is not positive.
[[nodiscard]] std::vector<std::vector<std::size_t>> assign_buckets(std::span<const Bytes> sizes,
                                                                   const BucketOptions& options);

}  // namespace sheaf::layout
