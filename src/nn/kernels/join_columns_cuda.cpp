#include "join_columns_cuda.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "column_sums_kernel.h"
#include "join_columns_kernel.h"
#include "on_cuda.h"

namespace sheaf::nn {
namespace {

bool has_kernel(const std::vector<at::Tensor>& parts, const VectorTarget& sums) {
  const at::Tensor& first = parts.front();
  const auto fits = [&](const at::Tensor& part) {
    return part.is_contiguous() && part.size(0) == first.size(0) && part.numel() > 0 &&
           part.scalar_type() == first.scalar_type();
  };
  return parts.size() <= JoinedColumns::kMost && element_type(first.scalar_type()) &&
         element_type(sums.memory.scalar_type()) && sums.memory.is_contiguous() &&
         std::ranges::all_of(parts, fits);
}

JoinedColumns described(const std::vector<at::Tensor>& parts) {
  JoinedColumns all{.type = element_type(parts.front().scalar_type()).value(),
                    .num_rows = parts.front().size(0),
                    .in_chunks = true};
  for (const at::Tensor& part : parts) {
    const std::int64_t width = part.size(1);
    all.sources[all.num_sources] = part.const_data_ptr();
    all.widths[all.num_sources++] = width;
    all.width += width;
    all.in_chunks = all.in_chunks && fit_chunks(width, width, part.const_data_ptr());
  }
  return all;
}

}  // namespace

at::Tensor join_columns_on_cuda(const std::vector<at::Tensor>& parts, const VectorTarget& sums) {
  if (!has_kernel(parts, sums)) return {};
  const Launch launch(parts.front());
  JoinedColumns all = described(parts);
  at::Tensor joined = at::empty({all.num_rows, all.width}, parts.front().options());
  all.joined = joined.mutable_data_ptr();
  all.in_chunks = all.in_chunks && fit_chunks(all.width, all.width, joined.const_data_ptr());
  all.num_parts =
      num_column_parts({.num_rows = all.num_rows, .width = all.width, .in_chunks = all.in_chunks},
                       launch.num_multiprocessors());
  const at::Tensor sums_of_parts =
      at::empty({all.num_parts, all.width}, joined.options().dtype(at::kFloat));
  all.parts = sums_of_parts.mutable_data_ptr<float>();
  launch_join_columns(all, launch.stream());
  launch_sum_of_parts({.parts = all.parts,
                       .num_parts = all.num_parts,
                       .stride = all.width,
                       .width = all.width,
                       .type = element_type(sums.memory.scalar_type()).value(),
                       .target = sums.memory.mutable_data_ptr(),
                       .adds = sums.adds},
                      launch.stream());
  return joined;
}

}  // namespace sheaf::nn
