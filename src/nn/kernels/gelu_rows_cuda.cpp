#include "gelu_rows_cuda.h"

#include <ATen/ops/empty_like.h>

#include "gelu_rows_kernel.h"
#include "sums_on_the_way.h"

namespace sheaf::nn {

at::Tensor gelu_rows_back_on_cuda(const at::Tensor& inner,
                                  at::Tensor& gradient,
                                  const VectorTarget& sums) {
  const auto type = element_type(inner.scalar_type());
  if (!type || inner.numel() == 0 || !inner.is_contiguous() || !gradient.is_contiguous() ||
      gradient.scalar_type() != inner.scalar_type() || !can_take_sums(sums)) {
    return {};
  }
  const Launch launch(inner);
  at::Tensor again = at::empty_like(inner);
  const std::int64_t width = inner.size(1);
  const GeluRows all{
      .type = *type,
      .inner = inner.const_data_ptr(),
      .gradient = gradient.mutable_data_ptr(),
      .again = again.mutable_data_ptr(),
      .num_rows = inner.size(0),
      .width = width,
      .in_chunks = fit_chunks(
          width, width, inner.const_data_ptr(), gradient.const_data_ptr(), again.const_data_ptr())};
  launch_with_sums(&launch_gelu_rows_back, all, inner, sums, launch);
  return again;
}

}  // namespace sheaf::nn
