#include "embed_rows_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>

#include <limits>
#include <vector>

#include "awake.h"
#include "embed_rows_kernel.h"
#include "on_cuda.h"

namespace sheaf::nn {
namespace {

const std::int64_t* numbers_of(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr<std::int64_t>() : nullptr;
}

bool are_whole(const at::Tensor& x) { return !x.defined() || x.scalar_type() == at::kLong; }

}  // namespace

at::Tensor embed_rows_on_cuda(const at::Tensor& table,
                              const at::Tensor& indices,
                              const at::Tensor& positions_table,
                              const at::Tensor& positions) {
  const auto type = element_type(table.scalar_type());
  const bool has_positions = positions_table.defined();
  if (!type || indices.numel() == 0 || indices.dim() == 0 || !are_whole(indices) ||
      !are_whole(positions) ||
      (has_positions && positions_table.scalar_type() != table.scalar_type())) {
    return {};
  }
  const Launch launch(table);
  const auto [rows, places] = awake(table, positions_table);
  const at::Tensor tokens = indices.contiguous();
  const at::Tensor where = positions.defined() ? positions.contiguous() : positions;
  const std::int64_t width = table.size(1);
  std::vector<std::int64_t> shape = indices.sizes().vec();
  shape.push_back(width);
  const at::Tensor result = at::empty(shape, table.options());
  launch_embed(
      {.type = *type,
       .table = data_of(rows),
       .table_size = table.size(0),
       .indices = numbers_of(tokens),
       .positions_table = data_of(places),
       .positions_size = has_positions ? places.size(0) : 0,
       .positions = numbers_of(where),
       .length = indices.size(-1),
       .num_rows = indices.numel(),
       .width = width,
       .in_chunks = fit_chunks(width, width, data_of(rows), data_of(places), data_of(result)),
       .result = result.mutable_data_ptr()},
      launch.stream());
  return result;
}

bool add_embedding_gradient_on_cuda(const at::Tensor& rows,
                                    const at::Tensor& indices,
                                    at::Tensor& target) {
  const auto type = element_type(rows.scalar_type());
  const auto target_type = element_type(target.scalar_type());
  if (!type || !target_type || !target.is_contiguous() ||
      target.size(0) > std::numeric_limits<int>::max()) {
    return false;
  }
  if (rows.numel() == 0) return true;
  const Launch launch(rows);
  const at::Tensor from = rows.contiguous();
  // Half the digits to sort by. What is equal keeps its order, and so does the sum.
  const auto [sorted, order] =
      at::sort(indices.to(at::kInt), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const std::int64_t width = from.size(1);
  launch_add_rows({.type = *type,
                   .rows = data_of(from),
                   .indices = sorted.const_data_ptr<int>(),
                   .order = order.const_data_ptr<std::int64_t>(),
                   .num_rows = from.size(0),
                   .width = width,
                   .in_chunks = fit_chunks(width, width, data_of(from), data_of(target)),
                   .target_type = *target_type,
                   .target = target.mutable_data_ptr(),
                   .target_size = target.size(0)},
                  launch.stream());
  return true;
}

}  // namespace sheaf::nn
