#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <optional>

#include "element_type.h"

// What the *_cuda.cpp files have in common.

namespace sheaf::nn {

/// Returns nothing for types without kernels.
[[nodiscard]] inline std::optional<ElementType> element_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ElementType::fp32;
    case at::kBFloat16:
      return ElementType::bf16;
    case at::kHalf:
      return ElementType::fp16;
    default:
      return std::nullopt;
  }
}

/// Makes the device of `x` the current one for a launch in its current stream.
class Launch {
 public:
  explicit Launch(const at::Tensor& x) : guard_(x.device()) {}

  [[nodiscard]] void* stream() const { return at::cuda::getCurrentCUDAStream().stream(); }
  [[nodiscard]] int num_multiprocessors() const {
    return at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  }

 private:
  c10::cuda::CUDAGuard guard_;
};

/// Says whether rows of `width` elements, `stride` apart, can be read in chunks (chunks.cuh) from
/// all of the given places; those that are null do not matter.
template <class... Pointers>
[[nodiscard]] bool fit_chunks(std::int64_t width, std::int64_t stride, Pointers... pointers) {
  const auto fits = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  };
  return width % 8 == 0 && stride % 8 == 0 && (fits(pointers) && ...);
}

/// Returns the memory of `x` to read, or null where it is undefined.
[[nodiscard]] inline const void* data_of(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr() : nullptr;
}

}  // namespace sheaf::nn
