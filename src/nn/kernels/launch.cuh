#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "element_type.h"
#include "sheaf/base/error.h"

// What the kernels' launchers have in common.

namespace sheaf::nn {

/// Calls `call` with a value of the type that elements have, whose type is all that matters.
template <class Call>
void with_type(ElementType type, const Call& call) {
  switch (type) {
    case ElementType::fp32:
      return call(float{});
    case ElementType::bf16:
      return call(__nv_bfloat16{});
    case ElementType::fp16:
      return call(__half{});
  }
}

/// Returns how many blocks cover `pieces`: at least one, and no more than `most`.
inline unsigned blocks_for(std::int64_t pieces, std::int64_t per_block, std::int64_t most) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((pieces + per_block - 1) / per_block, 1, most));
}

/// Throws Error if the launch before was refused.
inline void check_launch(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("the kernel of ") + what +
              " did not start: " + cudaGetErrorString(error));
}

}  // namespace sheaf::nn
