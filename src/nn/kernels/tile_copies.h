#pragma once

#include <utility>

#include "loops.h"
#include "tiles.h"

// Copies of factors as tiles read them; see tile_loops.h.

namespace sheaf::nn {

/// What of a result a processor keeps in its registers at once: rows of vectors of `kLanesOf`
/// numbers.
template <std::int64_t kLanesOf, std::int64_t kRowsOf>
struct Tile {
  static constexpr std::int64_t kLanes = kLanesOf;
  static constexpr std::int64_t kRows = kRowsOf;
  /// Vectors beside one another, at most.
  static constexpr std::int64_t kVectors = 3;
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
};

/// The terms and the columns that are copied together. Their vectors are spread evenly over panels,
/// each as wide as a tile at most.
template <class Shape>
struct TileGroup {
  Part depth;
  Part columns;

  [[nodiscard, gnu::always_inline]] std::int64_t num_terms() const {
    return depth.end - depth.begin;
  }
  [[nodiscard, gnu::always_inline]] std::int64_t num_vectors() const {
    return (columns.end - columns.begin + Shape::kLanes - 1) / Shape::kLanes;
  }
  [[nodiscard, gnu::always_inline]] std::int64_t num_panels() const {
    return (num_vectors() + Shape::kVectors - 1) / Shape::kVectors;
  }
  /// Returns the vectors of a panel.
  [[nodiscard, gnu::always_inline]] Part panel(std::int64_t number) const {
    return {number * num_vectors() / num_panels(), (number + 1) * num_vectors() / num_panels()};
  }
};

template <std::int64_t kStep, class Lanes, std::size_t... kAt>
[[gnu::always_inline]] inline void exchange_parts(Lanes& upper,
                                                  Lanes& lower,
                                                  std::index_sequence<kAt...>) {
  constexpr std::size_t kSize = sizeof...(kAt);
  const Lanes first = __builtin_shufflevector(
      upper, lower, static_cast<int>((kAt & kStep) == 0 ? kAt : kAt - kStep + kSize)...);
  lower = __builtin_shufflevector(
      upper, lower, static_cast<int>((kAt & kStep) == 0 ? kAt + kStep : kAt + kSize)...);
  upper = first;
}

/// One step of transposing a square: blocks of `kStep` beside and below the diagonal change places.
template <class Shape, std::int64_t kStep>
[[gnu::always_inline]] inline void exchange_blocks(typename Shape::Lanes* rows) {
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < Shape::kLanes; ++i) {
    if ((i & kStep) != 0) continue;
    exchange_parts<kStep>(rows[i], rows[i + kStep], std::make_index_sequence<Shape::kLanes>());
  }
}

/// Writes the transpose of as many rows as a vector has lanes.
template <class Shape>
[[gnu::always_inline]] inline void transpose_square(Matrix from, Matrix to) {
  typename Shape::Lanes rows[Shape::kLanes];
  for (std::int64_t i = 0; i < Shape::kLanes; ++i) {
    std::memcpy(&rows[i], from.from_row(i).data, sizeof(rows[i]));
  }
  exchange_blocks<Shape, 1>(rows);
  exchange_blocks<Shape, 2>(rows);
  exchange_blocks<Shape, 4>(rows);
  if constexpr (Shape::kLanes == 16) exchange_blocks<Shape, 8>(rows);
  for (std::int64_t i = 0; i < Shape::kLanes; ++i) {
    std::memcpy(to.from_row(i).data, &rows[i], sizeof(rows[i]));
  }
}

/// Copies a vector's columns of b, with zeros where there are no more.
template <class Shape>
[[gnu::always_inline]] inline void copy_columns(Matrix from,
                                                std::int64_t width,
                                                std::int64_t num_terms,
                                                Matrix to) {
  constexpr std::int64_t kWidth = Shape::kLanes;
  if (width == kWidth) {
    for (std::int64_t k = 0; k < num_terms; ++k) {
      std::memcpy(to.from_row(k).data, from.from_row(k).data, sizeof(float) * kWidth);
    }
    return;
  }
  for (std::int64_t k = 0; k < num_terms; ++k) {
    for (std::int64_t j = 0; j < kWidth; ++j) {
      to.from_row(k).data[j] = j < width ? from.from_row(k).data[j] : 0;
    }
  }
}

/// The same from where b lies transposed.
template <class Shape>
[[gnu::always_inline]] inline void copy_transposed(Matrix from,
                                                   std::int64_t width,
                                                   std::int64_t num_terms,
                                                   Matrix to) {
  constexpr std::int64_t kWidth = Shape::kLanes;
  std::int64_t k = 0;
  for (; width == kWidth && k + kWidth <= num_terms; k += kWidth) {
    transpose_square<Shape>(from.from_column(k), to.from_row(k));
  }
  for (; k < num_terms; ++k) {
    for (std::int64_t j = 0; j < kWidth; ++j) {
      to.from_row(k).data[j] = j < width ? from.from_row(j).data[k] : 0;
    }
  }
}

/// Copies b's part of a group, panel by panel.
template <class Shape>
[[gnu::always_inline]] inline void copy_group(const Product& product,
                                              const TileGroup<Shape>& group,
                                              float* to) {
  constexpr std::int64_t kWidth = Shape::kLanes;
  const std::int64_t num_terms = group.num_terms();
  for (std::int64_t number = 0; number < group.num_panels(); ++number) {
    const Part vectors = group.panel(number);
    const std::int64_t stride = (vectors.end - vectors.begin) * kWidth;
    for (std::int64_t i = vectors.begin; i < vectors.end; ++i) {
      const std::int64_t column = group.columns.begin + i * kWidth;
      const std::int64_t width = std::min(kWidth, group.columns.end - column);
      const Matrix target{to + (i - vectors.begin) * kWidth, stride};
      if (product.transpose_b) {
        const Matrix from = product.b.from_row(column).from_column(group.depth.begin);
        copy_transposed<Shape>(from, width, num_terms, target);
      } else {
        const Matrix from = product.b.from_row(group.depth.begin).from_column(column);
        copy_columns<Shape>(from, width, num_terms, target);
      }
    }
    to += stride * num_terms;
  }
}

/// Copies rows of a, one behind the other, for a whole number of tiles: what is missing is zeros.
template <class Shape>
[[gnu::always_inline]] inline void copy_rows(const Product& product,
                                             Part rows,
                                             Part depth,
                                             float* to) {
  const std::int64_t num_rows = rows.end - rows.begin, num_terms = depth.end - depth.begin;
  const std::int64_t whole = (num_rows + Shape::kRows - 1) / Shape::kRows * Shape::kRows;
  const Matrix from = product.a.from_row(rows.begin).from_column(depth.begin);
  for (std::int64_t i = 0; i < whole; ++i, to += kCopiedRow) {
    const float* const row = from.from_row(i).data;
    for (std::int64_t k = 0; k < num_terms; ++k) to[k] = i < num_rows ? row[k] : 0;
  }
}

/// The same where a lies transposed: the rows of a tile stay beside one another.
template <class Shape>
[[gnu::always_inline]] inline void copy_rows_of_transposed(const Product& product,
                                                           Part rows,
                                                           Part depth,
                                                           float* to) {
  constexpr std::int64_t kRows = Shape::kRows;
  const std::int64_t num_rows = rows.end - rows.begin, num_terms = depth.end - depth.begin;
  const Matrix from = product.a.from_row(depth.begin).from_column(rows.begin);
  for (std::int64_t k = 0; k < num_terms; ++k) {
    const float* const row = from.from_row(k).data;
    float* tile = to + k * kRows;
    std::int64_t i = 0;
    for (; i + kRows <= num_rows; i += kRows, tile += kRows * kCopiedRow) {
      std::memcpy(tile, row + i, sizeof(float) * kRows);
    }
    for (std::int64_t j = 0; i < num_rows && j < kRows; ++j) {
      tile[j] = i + j < num_rows ? row[i + j] : 0;
    }
  }
}

}  // namespace sheaf::nn
