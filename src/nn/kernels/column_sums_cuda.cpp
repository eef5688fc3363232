#include "column_sums_cuda.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "column_sums_kernel.h"
#include "on_cuda.h"

namespace sheaf::nn {

int num_column_parts(const ColumnRows& all, int num_multiprocessors) {
  constexpr std::int64_t kBlocksPerMultiprocessor = 8, kFewestRows = 32;
  const std::int64_t wanted = num_multiprocessors * kBlocksPerMultiprocessor / all.num_blocks();
  const std::int64_t most = (all.num_rows + kFewestRows - 1) / kFewestRows;
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

bool column_sums_on_cuda(const at::Tensor& rows, const VectorTarget& target) {
  const auto type = element_type(rows.scalar_type());
  const auto target_type = element_type(target.memory.scalar_type());
  if (!type || !target_type || rows.numel() == 0 || rows.stride(1) != 1 ||
      !target.memory.is_contiguous()) {
    return false;
  }
  const Launch launch(rows);
  const void* const from = rows.const_data_ptr();
  ColumnRows all{.type = *type,
                 .rows = from,
                 .num_rows = rows.size(0),
                 .width = rows.size(1),
                 .stride = rows.stride(0),
                 .in_chunks = fit_chunks(rows.size(1), rows.stride(0), from)};
  all.num_parts = num_column_parts(all, launch.num_multiprocessors());
  const at::Tensor parts = at::empty({all.num_parts, all.width}, rows.options().dtype(at::kFloat));
  all.parts = parts.mutable_data_ptr<float>();
  launch_column_parts(all, launch.stream());
  launch_sum_of_parts({.parts = all.parts,
                       .num_parts = all.num_parts,
                       .stride = all.width,
                       .width = all.width,
                       .type = *target_type,
                       .target = target.memory.mutable_data_ptr(),
                       .adds = target.adds},
                      launch.stream());
  return true;
}

}  // namespace sheaf::nn
