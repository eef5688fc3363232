#include "join_columns_cuda.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "join_columns_kernel.h"
#include "sums_on_the_way.h"

namespace sheaf::nn {
namespace {

bool has_kernel(const std::vector<at::Tensor>& parts, const VectorTarget& sums) {
  const at::Tensor& first = parts.front();
  const auto fits = [&](const at::Tensor& part) {
    return part.is_contiguous() && part.size(0) == first.size(0) && part.numel() > 0 &&
           part.scalar_type() == first.scalar_type();
  };
  return parts.size() <= JoinedColumns::kMost && element_type(first.scalar_type()) &&
         can_take_sums(sums) && std::ranges::all_of(parts, fits);
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
  launch_with_sums(&launch_join_columns, all, joined, sums, launch);
  return joined;
}

}  // namespace sheaf::nn
