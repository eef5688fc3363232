#include "put_scaled_cuda.h"

#include "on_cuda.h"
#include "put_scaled_kernel.h"

namespace sheaf::nn {

bool put_scaled_on_cuda(const at::Tensor& values,
                        const at::Tensor& factor,
                        const at::Tensor& target,
                        bool adds) {
  const auto from = element_type(values.scalar_type()), to = element_type(target.scalar_type());
  if (!from || !to || !values.is_contiguous() || !target.is_contiguous()) return false;
  if (values.numel() == 0) return true;
  const Launch launch(values);
  const at::Tensor by = factor.to(at::kFloat);
  launch_put_scaled(
      {.from = *from,
       .to = *to,
       .values = values.const_data_ptr(),
       .target = target.mutable_data_ptr(),
       .size = values.numel(),
       .factor = by.const_data_ptr<float>(),
       .adds = adds,
       .in_chunks = fit_chunks(0, 0, values.const_data_ptr(), target.const_data_ptr())},
      launch.stream());
  return true;
}

}  // namespace sheaf::nn
