#pragma once

#include "gemm.h"

namespace sheaf::nn {

// Products of fp32 matrices by sheaf's own kernels. Each number of a result is the same whatever is
// computed beside it: neither threads nor the pieces they work on change a bit.

/// Terms of each sum that are added up in registers, one block after the other.
constexpr std::int64_t kTileDepth = 512;
/// Columns of b that are copied together. With kTileDepth they fill a part of the second cache.
constexpr std::int64_t kTileColumns = 192;
/// Rows of a that are copied together.
constexpr std::int64_t kTileRows = 64;
/// Rows whose distance is a power of two fight for the same places of a cache.
constexpr std::int64_t kCopiedRow = kTileDepth + 16;
/// Numbers that all copies of a moment need.
constexpr std::int64_t kTileScratch = kTileDepth * kTileColumns + kTileRows * kCopiedRow;

/// A product, and what is done with its result while that is in the cache. Null is left out.
struct TiledProduct {
  Product product;
  /// [n], added to each row.
  const float* bias = nullptr;
  /// [m, n], added to the product.
  Matrix residual;
  /// [m, n], gets gelu (tanh) of the result.
  Matrix gelu;
};

/// Says whether there are kernels for this processor.
[[nodiscard]] bool has_tiles();

/// Says whether they are taken for a result of this size here. Intel's processors keep to MKL,
/// which Intel wrote; on AMD EPYCs tiles are 9 % to 2.2 times faster than MKL, and as fast as
/// oneDNN, which cannot write or add where the result belongs. A few rows are not worth the copies
/// that tiles are made of.
[[nodiscard]] bool prefers_tiles(std::int64_t rows, std::int64_t columns);

/// Multiplies on the calling thread.
void multiply_by_tiles(const TiledProduct& all);

}  // namespace sheaf::nn
