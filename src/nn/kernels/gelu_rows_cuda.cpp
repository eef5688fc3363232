#include "gelu_rows_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "column_sums_kernel.h"
#include "gelu_rows_kernel.h"
#include "on_cuda.h"

namespace sheaf::nn {

at::Tensor gelu_rows_back_on_cuda(const at::Tensor& inner,
                                  at::Tensor& gradient,
                                  const VectorTarget& sums) {
  const auto type = element_type(inner.scalar_type());
  const auto sum_type = element_type(sums.memory.scalar_type());
  if (!type || !sum_type || inner.numel() == 0 || !inner.is_contiguous() ||
      !gradient.is_contiguous() || gradient.scalar_type() != inner.scalar_type() ||
      !sums.memory.is_contiguous()) {
    return {};
  }
  const Launch launch(inner);
  at::Tensor again = at::empty_like(inner);
  const std::int64_t width = inner.size(1);
  GeluRows all{
      .type = *type,
      .inner = inner.const_data_ptr(),
      .gradient = gradient.mutable_data_ptr(),
      .again = again.mutable_data_ptr(),
      .num_rows = inner.size(0),
      .width = width,
      .in_chunks = fit_chunks(
          width, width, inner.const_data_ptr(), gradient.const_data_ptr(), again.const_data_ptr())};
  all.num_parts =
      num_column_parts({.num_rows = all.num_rows, .width = width, .in_chunks = all.in_chunks},
                       launch.num_multiprocessors());
  const at::Tensor parts = at::empty({all.num_parts, width}, inner.options().dtype(at::kFloat));
  all.parts = parts.mutable_data_ptr<float>();
  launch_gelu_rows_back(all, launch.stream());
  launch_sum_of_parts({.parts = all.parts,
                       .num_parts = all.num_parts,
                       .stride = width,
                       .width = width,
                       .type = *sum_type,
                       .target = sums.memory.mutable_data_ptr(),
                       .adds = sums.adds},
                      launch.stream());
  return again;
}

}  // namespace sheaf::nn
