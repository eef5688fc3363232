#include "gelu_rows.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "column_sums.h"
#include "cpu.h"
#include "gelu.h"
#include "gelu_rows_cuda.h"
#include "plain.h"
#include "row_blocks.h"

namespace sheaf::nn {
namespace {

at::Tensor by_kernel(const at::Tensor& inner,
                     const at::Tensor& gradient,
                     const VectorTarget& sums) {
  const std::int64_t width = inner.size(1);
  const RowBlocks blocks(inner.size(0));
  const at::Tensor of_blocks = at::zeros({blocks.count(), width}, inner.options());
  at::Tensor again = at::empty_like(inner);
  blocks.for_each([&](std::int64_t block, Part rows) {
    best_kernels().gelu_back({.inner = inner.const_data_ptr<float>(),
                              .gradient = gradient.mutable_data_ptr<float>(),
                              .again = again.mutable_data_ptr<float>(),
                              .width = width,
                              .sums = of_blocks.mutable_data_ptr<float>() + block * width},
                             rows);
  });
  column_sums(of_blocks, sums);
  return again;
}

}  // namespace

at::Tensor gelu_rows_back(const at::Tensor& inner, at::Tensor& gradient, const VectorTarget& sums) {
  if (inner.is_cuda()) {
    const at::Tensor again = gelu_rows_back_on_cuda(inner, gradient, sums);
    if (again.defined()) return again;
  }
  if (is_plain_fp32(inner) && inner.is_contiguous() && is_plain_fp32(gradient) &&
      gradient.is_contiguous()) {
    return by_kernel(inner, gradient, sums);
  }
  gradient.copy_(gelu_gradient(inner, gradient));
  column_sums(gradient, sums);
  return gelu_of(inner);
}

}  // namespace sheaf::nn
