#pragma once

#include "tile_copies.h"

// Products tile by tile; see loops.h.
//
// Note [Tiles]: a tile of the result stays in registers while a block of terms is added up. Its
// factors are copies: a group of b's columns, which stays in the second cache while all rows pass,
// and a few rows of a, which stay in the first while all panels of the group pass. Each number is
// the sum of its terms in their order, block by block, whatever tile it is in.

namespace sheaf::nn {

/// Adds the product of copies to `c`, or writes it. A tile's rows of a lie one behind the other,
/// or beside one another where a is transposed.
template <class Shape, std::int64_t kVectors, bool kTransposed>
[[gnu::always_inline]] inline void multiply_tile(
    const float* a, const float* b, std::int64_t num_terms, Matrix c, bool adds) {
  using Lanes = typename Shape::Lanes;
  constexpr std::int64_t kWidth = kVectors * Shape::kLanes, kAhead = 8 * kWidth;
  Lanes sums[Shape::kRows][kVectors] = {};
  for (std::int64_t i = 0; i < Shape::kRows; ++i) {
    for (std::int64_t j = 0; j < kWidth; j += Shape::kLanes) {
      __builtin_prefetch(c.from_row(i).data + j, /*writes=*/1);
    }
  }
  for (std::int64_t k = 0; k < num_terms; ++k, b += kWidth) {
    Lanes factors[kVectors];
#pragma GCC unroll 3
    for (std::int64_t j = 0; j < kVectors; ++j) {
      std::memcpy(&factors[j], b + j * Shape::kLanes, sizeof(Lanes));
      __builtin_prefetch(b + kAhead + j * Shape::kLanes);
    }
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < Shape::kRows; ++i) {
      const float factor = kTransposed ? a[k * Shape::kRows + i] : a[i * kCopiedRow + k];
#pragma GCC unroll 3
      for (std::int64_t j = 0; j < kVectors; ++j) sums[i][j] += factor * factors[j];
    }
  }
  for (std::int64_t i = 0; i < Shape::kRows; ++i) {
    for (std::int64_t j = 0; j < kVectors; ++j) {
      float* const to = c.from_row(i).data + j * Shape::kLanes;
      Lanes before = {};
      if (adds) std::memcpy(&before, to, sizeof(Lanes));
      const Lanes after = before + sums[i][j];
      std::memcpy(to, &after, sizeof(Lanes));
    }
  }
}

/// One tile: its copied factors, and where it belongs.
struct TileWork {
  const float* a = nullptr;
  const float* b = nullptr;
  std::int64_t num_terms = 0;
  bool transposed = false;
  bool adds = false;
  Matrix c;
};

template <class Shape, std::int64_t kVectors>
[[gnu::always_inline]] inline void multiply_tile(const TileWork& work) {
  if (work.transposed) {
    multiply_tile<Shape, kVectors, true>(work.a, work.b, work.num_terms, work.c, work.adds);
  } else {
    multiply_tile<Shape, kVectors, false>(work.a, work.b, work.num_terms, work.c, work.adds);
  }
}

template <class Shape>
[[gnu::always_inline]] inline void multiply_tile(const TileWork& work, std::int64_t num_vectors) {
  if (num_vectors == 3) return multiply_tile<Shape, 3>(work);
  if (num_vectors == 2) return multiply_tile<Shape, 2>(work);
  multiply_tile<Shape, 1>(work);
}

/// A tile of which only `rows` and `columns` are in the result.
template <class Shape>
[[gnu::always_inline]] inline void multiply_edge(const TileWork& work,
                                                 std::int64_t num_vectors,
                                                 std::int64_t rows,
                                                 std::int64_t columns) {
  float whole[Shape::kRows * Shape::kVectors * Shape::kLanes];
  TileWork aside = work;
  aside.c = {whole, num_vectors * Shape::kLanes};
  aside.adds = false;
  multiply_tile<Shape>(aside, num_vectors);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const from = aside.c.from_row(i).data;
    float* const to = work.c.from_row(i).data;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = (work.adds ? to[j] : 0.0F) + from[j];
  }
}

/// All tiles of some rows and a group of columns.
template <class Shape>
[[gnu::always_inline]] inline void multiply_rows(const Product& product,
                                                 const TileGroup<Shape>& group,
                                                 Part rows,
                                                 const TileWork& first) {
  for (std::int64_t row = rows.begin; row < rows.end; row += Shape::kRows) {
    TileWork work = first;
    work.a = first.a + (row - rows.begin) * kCopiedRow;
    for (std::int64_t number = 0; number < group.num_panels(); ++number) {
      const Part vectors = group.panel(number);
      const std::int64_t num_vectors = vectors.end - vectors.begin;
      const std::int64_t column = group.columns.begin + vectors.begin * Shape::kLanes;
      const std::int64_t width = std::min(num_vectors * Shape::kLanes, group.columns.end - column);
      const std::int64_t height = std::min(Shape::kRows, rows.end - row);
      work.c = product.c.from_row(row).from_column(column);
      if (height == Shape::kRows && width == num_vectors * Shape::kLanes) {
        multiply_tile<Shape>(work, num_vectors);
      } else {
        multiply_edge<Shape>(work, num_vectors, height, width);
      }
      work.b += num_vectors * Shape::kLanes * group.num_terms();
    }
  }
}

/// Writes what a product is added to.
[[gnu::always_inline]] inline void begin_rows(const TiledProduct& all, Part rows, Part columns) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    float* const to = all.product.c.from_row(row).data;
    const float* const residual = all.residual.from_row(row).data;
    if (all.residual.data == nullptr) {
      for (std::int64_t i = columns.begin; i < columns.end; ++i) to[i] = all.bias[i];
    } else if (all.bias == nullptr) {
      for (std::int64_t i = columns.begin; i < columns.end; ++i) to[i] = residual[i];
    } else {
      for (std::int64_t i = columns.begin; i < columns.end; ++i) to[i] = residual[i] + all.bias[i];
    }
  }
}

/// Computes what `all` says, with room for kTileScratch numbers.
template <class Shape>
[[gnu::always_inline]] inline void multiply_in_tiles(const TiledProduct& all, float* scratch) {
  const Product& product = all.product;
  const bool begins = all.bias != nullptr || all.residual.data != nullptr;
  float* const rows_of_a = scratch + kTileDepth * kTileColumns;
  for (std::int64_t k = 0; k < product.k; k += kTileDepth) {
    const Part depth{k, std::min(k + kTileDepth, product.k)};
    for (std::int64_t column = 0; column < product.n; column += kTileColumns) {
      const TileGroup<Shape> group{depth, {column, std::min(column + kTileColumns, product.n)}};
      copy_group<Shape>(product, group, scratch);
      for (std::int64_t row = 0; row < product.m; row += kTileRows) {
        const Part rows{row, std::min(row + kTileRows, product.m)};
        if (begins && k == 0) begin_rows(all, rows, group.columns);
        if (product.transpose_a) {
          copy_rows_of_transposed<Shape>(product, rows, depth, rows_of_a);
        } else {
          copy_rows<Shape>(product, rows, depth, rows_of_a);
        }
        multiply_rows<Shape>(product,
                             group,
                             rows,
                             {.a = rows_of_a,
                              .b = scratch,
                              .num_terms = group.num_terms(),
                              .transposed = product.transpose_a,
                              .adds = product.adds || begins || k > 0});
        if (all.gelu.data == nullptr || depth.end < product.k) continue;
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          gelu_loop(product.c.from_row(i).data, all.gelu.from_row(i).data, group.columns);
        }
      }
    }
  }
}

}  // namespace sheaf::nn
