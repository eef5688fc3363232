#include "fused_product_cpu.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "blas.h"
#include "cpu.h"
#include "plain.h"
#include "result_blocks.h"
#include "tiles.h"

namespace sheaf::nn {
namespace {

// Rows that are multiplied at once where more is done to them: they are still in the cache then.
// Threads take panels in turns; where there is one thread, larger ones cost BLAS less.
constexpr std::int64_t kPanel = 256;
constexpr std::int64_t kPanelOfOneThread = 512;
// A side that is cut into pieces for the threads.
constexpr std::int64_t kLongSide = 4096;
constexpr std::int64_t kPiece = 1024;

/// A matrix as BLAS wants it.
struct View {
  Matrix matrix;
  bool transposed = false;
};

/// Returns nothing where neither rows nor columns are dense.
std::optional<View> view_of(const at::Tensor& x) {
  if (!is_plain_fp32(x) || x.numel() == 0) return std::nullopt;
  auto* const data = const_cast<float*>(x.const_data_ptr<float>());
  if (x.stride(1) == 1 && x.stride(0) >= x.size(1)) return View{{data, x.stride(0)}, false};
  if (x.stride(0) == 1 && x.stride(1) >= x.size(0)) return View{{data, x.stride(1)}, true};
  return std::nullopt;
}

/// Rows that may be undefined, and then are null.
Matrix rows_of(const at::Tensor& x) {
  if (!x.defined()) return {};
  return {const_cast<float*>(x.const_data_ptr<float>()), x.stride(0)};
}

bool has_dense_rows(const at::Tensor& x) {
  return !x.defined() || (is_plain_fp32(x) && x.stride(-1) == 1);
}

/// All matrices of a call; those that are not wanted are null.
struct Parts {
  Product product;
  Matrix residual;
  Matrix inner;
  Matrix result;
  const float* bias = nullptr;

  /// Where the product itself is written.
  [[nodiscard]] Matrix of_product() const { return inner.data != nullptr ? inner : result; }
  /// Whether nothing but a product is wanted.
  [[nodiscard]] bool is_plain() const {
    return bias == nullptr && residual.data == nullptr && inner.data == nullptr;
  }
};

std::optional<Parts> parts_of(const FusedProduct& product) {
  const auto a = view_of(product.a), b = view_of(product.b), c = view_of(product.result);
  if (!a || !b || !c || c->transposed || !has_dense_rows(product.residual) ||
      !has_dense_rows(product.inner) || !has_dense_rows(product.bias)) {
    return std::nullopt;
  }
  Parts parts{.product = {.a = a->matrix,
                          .b = b->matrix,
                          .m = product.a.size(0),
                          .n = product.b.size(1),
                          .k = product.a.size(1),
                          .transpose_a = a->transposed,
                          .transpose_b = b->transposed},
              .residual = rows_of(product.residual),
              .inner = rows_of(product.inner),
              .result = c->matrix};
  if (product.bias.defined()) parts.bias = product.bias.const_data_ptr<float>();
  parts.product.c = parts.of_product();
  return parts;
}

/// Returns the part of a product that makes these rows of the result.
Product rows_of(Product whole, Part rows) {
  whole.a = whole.transpose_a ? whole.a.from_column(rows.begin) : whole.a.from_row(rows.begin);
  whole.c = whole.c.from_row(rows.begin);
  whole.m = rows.end - rows.begin;
  return whole;
}

Product columns_of(Product whole, Part columns) {
  whole.b =
      whole.transpose_b ? whole.b.from_row(columns.begin) : whole.b.from_column(columns.begin);
  whole.c = whole.c.from_column(columns.begin);
  whole.n = columns.end - columns.begin;
  return whole;
}

/// Returns the rows and columns of a vector or matrix, if there is one.
Matrix block_of(Matrix matrix, Part rows, Part columns) {
  if (matrix.data == nullptr) return {};
  return matrix.from_row(rows.begin).from_column(columns.begin);
}

/// Returns a block of the result.
TiledProduct tiled(const Parts& parts, Part rows, Part columns) {
  return {.product = columns_of(rows_of(parts.product, rows), columns),
          .bias = parts.bias == nullptr ? nullptr : parts.bias + columns.begin,
          .residual = block_of(parts.residual, rows, columns),
          .gelu = parts.inner.data == nullptr ? Matrix{} : block_of(parts.result, rows, columns)};
}

/// Writes what the product is added to into a row of it.
void begin_row(const Parts& parts, std::int64_t row) {
  const std::int64_t width = parts.product.n;
  float* const to = parts.of_product().from_row(row).data;
  if (parts.residual.data == nullptr) {
    std::memcpy(to, parts.bias, sizeof(float) * static_cast<std::size_t>(width));
    return;
  }
  const float* const from = parts.residual.from_row(row).data;
  if (parts.bias == nullptr) {
    std::memcpy(to, from, sizeof(float) * static_cast<std::size_t>(width));
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) to[i] = from[i] + parts.bias[i];
}

void run_panel(const Parts& parts, Part rows) {
  const bool begins = parts.bias != nullptr || parts.residual.data != nullptr;
  for (std::int64_t row = rows.begin; begins && row < rows.end; ++row) begin_row(parts, row);
  Product panel = rows_of(parts.product, rows);
  panel.adds = begins;
  multiply_by_blas(panel);
  if (parts.inner.data == nullptr) return;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    best_kernels().gelu(
        parts.inner.from_row(row).data, parts.result.from_row(row).data, {0, panel.n});
  }
}

}  // namespace

/// Multiplies matrices with a long side, such as a vocabulary, in pieces of it that threads take
/// one after the other: BLAS's own threads were 10 % slower there.
void multiply_in_pieces(const Product& whole) {
  const bool by_rows = whole.m >= whole.n;
  const std::int64_t length = by_rows ? whole.m : whole.n;
  if (length < kLongSide) return multiply_by_blas(whole);
  in_parallel({(length + kPiece - 1) / kPiece}, [&](Part part) {
    const Part piece{part.begin * kPiece, std::min(part.end * kPiece, length)};
    multiply_by_blas(by_rows ? rows_of(whole, piece) : columns_of(whole, piece));
  });
}

bool product_by_blas(const FusedProduct& product) {
  auto parts = parts_of(product);
  if (!has_blas() || !parts) return false;
  if (parts->is_plain()) {
    parts->product.adds = product.adds;
    multiply_in_pieces(parts->product);
    return true;
  }
  if (product.adds) return false;
  const std::int64_t rows = parts->product.m;
  const std::int64_t panel = at::get_num_threads() > 1 ? kPanel : kPanelOfOneThread;
  in_parallel({(rows + panel - 1) / panel}, [&](Part panels) {
    for (std::int64_t i = panels.begin; i < panels.end; ++i) {
      run_panel(*parts, {i * panel, std::min((i + 1) * panel, rows)});
    }
  });
  return true;
}

bool product_by_tiles(const FusedProduct& product) {
  auto parts = parts_of(product);
  if (!has_tiles() || !parts || (product.adds && !parts->is_plain())) return false;
  parts->product.adds = product.adds;
  const ResultBlocks blocks(parts->product.m, parts->product.n, at::get_num_threads());
  in_parallel({blocks.count()}, [&](Part some) {
    for (std::int64_t i = some.begin; i < some.end; ++i) {
      multiply_by_tiles(tiled(*parts, blocks.rows(i), blocks.columns(i)));
    }
  });
  return true;
}

bool product_on_cpu(const FusedProduct& product) {
  const bool in_tiles = prefers_tiles(product.a.size(0), product.b.size(1));
  return in_tiles ? product_by_tiles(product) : product_by_blas(product);
}

}  // namespace sheaf::nn
