#include "sum_of_squares.h"

#include <ATen/ops/empty.h>

#include "elements_of.h"
#include "kernels/squares.h"
#include "kernels/stream.h"

namespace sheaf::optim {

at::Tensor sum_of_squares(const std::vector<at::Tensor>& tensors) {
  TORCH_INTERNAL_ASSERT(!tensors.empty());
  std::vector<Squared> all;
  for (const at::Tensor& tensor : tensors) {
    const Type type = type_of(tensor);
    TORCH_INTERNAL_ASSERT(tensor.is_contiguous() &&
                          (type == Type::fp32 || type == Type::fp64 || type == Type::bf16));
    if (tensor.numel() > 0) all.push_back({tensor.const_data_ptr(), tensor.numel(), type});
  }
  const auto options = at::TensorOptions(tensors.front().device()).dtype(at::kDouble);
  const auto num_partial =
      static_cast<std::int64_t>(num_square_launches(all.size())) * kSquareBlocks;
  const at::Tensor partial = at::empty({num_partial}, options);
  at::Tensor sum = at::empty({1}, options);
  with_stream_of(sum, [&](void* stream) {
    sum_squares_on_cuda(
        all, partial.mutable_data_ptr<double>(), sum.mutable_data_ptr<double>(), stream);
  });
  return sum;
}

}  // namespace sheaf::optim
