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
/// Every bucket has at least one member, so one that is larger than the cap is alone. Throws
/// UsageError if a cap is not positive.
[[nodiscard]] std::vector<std::vector<std::size_t>> assign_buckets(std::span<const Bytes> sizes,
                                                                   const BucketOptions& options);

}  // namespace sheaf::layout
