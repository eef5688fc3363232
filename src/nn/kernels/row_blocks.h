#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel.h"

namespace sheaf::nn {

/// Rows in blocks that have sums of their own, so that a sum over rows does not depend on the
/// number of threads.
class RowBlocks {
 public:
  explicit RowBlocks(std::int64_t rows)
      : rows_(rows), size_(std::max(kFewestRows, (rows + kMostBlocks - 1) / kMostBlocks)) {}

  [[nodiscard]] std::int64_t count() const { return (rows_ + size_ - 1) / size_; }

  /// Calls body(block, its rows) for all blocks, in parallel.
  template <class Body>
  void for_each(const Body& body) const {
    in_parallel({count()}, [&](Part blocks) {
      for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
        body(i, Part{i * size_, std::min((i + 1) * size_, rows_)});
      }
    });
  }

 private:
  static constexpr std::int64_t kFewestRows = 64;
  static constexpr std::int64_t kMostBlocks = 64;

  std::int64_t rows_;
  std::int64_t size_;
};

}  // namespace sheaf::nn
