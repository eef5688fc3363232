#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel.h"
#include "tiles.h"

namespace sheaf::nn {

/// Cuts the result of a tiled product into blocks that threads take one after the other.
class ResultBlocks {
 public:
  ResultBlocks(std::int64_t rows, std::int64_t columns, std::int64_t num_threads)
      : rows_(rows), columns_(columns), height_(rows), width_(columns) {
    if (num_threads <= 1) return;
    width_ = std::min(columns, kTileColumns);
    // Each block copies its columns of b again, which few rows are not worth where there is enough
    // for everyone without.
    height_ = height_for(kBlocksPerThread * num_threads, kGoodRows);
    if (count() < num_threads) height_ = height_for(num_threads, kTileRows);
  }

  [[nodiscard]] std::int64_t count() const { return ceiling(rows_, height_) * beside(); }
  [[nodiscard]] Part rows(std::int64_t block) const {
    return piece(block / beside(), height_, rows_);
  }
  [[nodiscard]] Part columns(std::int64_t block) const {
    return piece(block % beside(), width_, columns_);
  }

 private:
  static constexpr std::int64_t kBlocksPerThread = 4;
  static constexpr std::int64_t kGoodRows = 256;

  static std::int64_t ceiling(std::int64_t size, std::int64_t by) { return (size + by - 1) / by; }
  static Part piece(std::int64_t number, std::int64_t size, std::int64_t whole) {
    return {number * size, std::min((number + 1) * size, whole)};
  }

  [[nodiscard]] std::int64_t beside() const { return ceiling(columns_, width_); }

  /// Returns how high blocks are if there shall be `num_blocks`, but none of less than `fewest`
  /// rows.
  [[nodiscard]] std::int64_t height_for(std::int64_t num_blocks, std::int64_t fewest) const {
    const std::int64_t height = ceiling(rows_, ceiling(num_blocks, beside()));
    return std::max(ceiling(height, kTileRows) * kTileRows, fewest);
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace sheaf::nn
