#include "embed_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>

#include "column_sums.h"
#include "embed_rows_cuda.h"
#include "parallel.h"

namespace sheaf::nn {
namespace {

at::Tensor by_operators(const at::Tensor& table,
                        const at::Tensor& indices,
                        const at::Tensor& positions_table,
                        const at::Tensor& positions) {
  at::Tensor tokens = at::embedding(table, indices);
  if (!positions_table.defined()) return tokens;
  return tokens + (positions.defined() ? at::embedding(positions_table, positions)
                                       : positions_table.narrow(0, 0, indices.size(-1)));
}

/// One row after the other, so that the sum does not depend on the number of threads: these share
/// the columns.
template <class T>
void add_on_cpu(const at::Tensor& rows, const at::Tensor& indices, const at::Tensor& target) {
  constexpr std::int64_t kColumnsPerThread = 64;
  T* const to = target.mutable_data_ptr<T>();
  const T* const from = rows.const_data_ptr<T>();
  const auto* const index = indices.const_data_ptr<std::int64_t>();
  const std::int64_t width = rows.size(1);
  in_parallel({width, kColumnsPerThread}, [&](Part columns) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
      T* const row = to + index[i] * width;
      const T* const added = from + i * width;
      for (std::int64_t c = columns.begin; c < columns.end; ++c) row[c] += added[c];
    }
  });
}

}  // namespace

at::Tensor embed_rows(const at::Tensor& table,
                      const at::Tensor& indices,
                      const at::Tensor& positions_table,
                      const at::Tensor& positions) {
  if (table.is_cuda()) {
    at::Tensor result = embed_rows_on_cuda(table, indices, positions_table, positions);
    if (result.defined()) return result;
  }
  return by_operators(table, indices, positions_table, positions);
}

void add_embedding_gradient(const at::Tensor& rows, const at::Tensor& indices, at::Tensor& target) {
  if (rows.is_cuda() && add_embedding_gradient_on_cuda(rows, indices, target)) return;
  const at::ScalarType type = target.scalar_type();
  const bool same = rows.scalar_type() == type;
  if (target.is_cpu() && same && type == at::kFloat) {
    add_on_cpu<float>(rows.contiguous(), indices.contiguous(), target);
  } else if (target.is_cpu() && same && type == at::kDouble) {
    add_on_cpu<double>(rows.contiguous(), indices.contiguous(), target);
  } else {
    target.index_put_({indices}, rows.to(type), /*accumulate=*/true);
  }
}

void add_position_gradient(const at::Tensor& rows, at::Tensor& target) {
  const std::int64_t texts = rows.size(0), length = rows.size(1), width = rows.size(2);
  const at::Tensor used = target.narrow(0, 0, length).view({length * width});
  column_sums(rows.reshape({texts, length * width}), {used, /*adds=*/true});
}

}  // namespace sheaf::nn
