#pragma once

#include <type_traits>

// Where numbers are fp32 these are as exact as fp32 is. Where they are narrower the hardware's own
// are enough: their errors, some units in the last place of fp32, are lost when results are
// rounded.

namespace sheaf::nn {

/// Returns e^x for results of type T.
template <class T>
__device__ inline float exponential(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return expf(x);
  } else {
    return __expf(x);
  }
}

/// Returns x / y for results of type T.
template <class T>
__device__ inline float quotient(float x, float y) {
  if constexpr (std::is_same_v<T, float>) {
    return x / y;
  } else {
    return __fdividef(x, y);
  }
}

}  // namespace sheaf::nn
