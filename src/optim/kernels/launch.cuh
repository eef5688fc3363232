#pragma once

#include <algorithm>
#include <string>

#include "arithmetic.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {

constexpr int kThreadsPerBlock = 256;

/// Returns a grid in which each thread takes a few elements of a large run.
inline unsigned num_blocks(std::int64_t size) {
  constexpr std::int64_t kMost = 4096;
  const std::int64_t blocks = (size + kThreadsPerBlock - 1) / kThreadsPerBlock;
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, kMost));
}

inline void check_launch(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("the kernel of ") + what +
              " did not start: " + cudaGetErrorString(error));
}

template <Type kType>
struct CopyType {
  static constexpr Type kValue = kType;
};

/// Calls `body` with the type of the copy as a constant.
template <class Body>
void with_copy_type(Type type, Body body) {
  switch (type) {
    case Type::none:
      return body(CopyType<Type::none>());
    case Type::fp32:
      return body(CopyType<Type::fp32>());
    case Type::fp64:
      return body(CopyType<Type::fp64>());
    case Type::fp16:
      return body(CopyType<Type::fp16>());
    case Type::bf16:
      return body(CopyType<Type::bf16>());
  }
}

template <Type kCopy, class T>
__device__ void write_copy(const Elements& all, std::int64_t i, T value) {
  if constexpr (kCopy != Type::none) {
    static_cast<Stored<kCopy>*>(all.copy)[i] = stored<kCopy>(value);
  }
}

__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline std::int64_t elements_apart() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

}  // namespace sheaf::optim
