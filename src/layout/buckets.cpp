#include "sheaf/layout/buckets.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

void check_positive(Bytes cap, std::string_view which) {
  if (cap.count > 0) return;
  throw UsageError(fmt::format("{} must be at least 1 byte, got {}", which, cap.count));
}

}  // namespace

std::vector<std::vector<std::size_t>> assign_buckets(std::span<const Bytes> sizes,
                                                     const BucketOptions& options) {
  check_positive(options.cap, "the cap of a bucket");
  check_positive(options.first_cap, "the cap of the first bucket");
  std::vector<std::vector<std::size_t>> closed;
  std::vector<std::size_t> open;
  std::int64_t filled = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    open.push_back(i);
    filled += sizes[i].count;
    const Bytes cap = closed.empty() ? options.first_cap : options.cap;
    if (filled < cap.count) continue;
    closed.push_back(std::exchange(open, {}));
    filled = 0;
  }
  if (!open.empty()) closed.push_back(std::move(open));
  return closed;
}

}  // namespace sheaf::layout
