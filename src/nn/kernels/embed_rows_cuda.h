#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

// Both work in the current stream and do not wait. They return nothing, or false, where there is no
// kernel for the types, as in a build without CUDA.

[[nodiscard]] at::Tensor embed_rows_on_cuda(const at::Tensor& table,
                                            const at::Tensor& indices,
                                            const at::Tensor& positions_table,
                                            const at::Tensor& positions);

[[nodiscard]] bool add_embedding_gradient_on_cuda(const at::Tensor& rows,
                                                  const at::Tensor& indices,
                                                  at::Tensor& target);

}  // namespace sheaf::nn
