#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sheaf::nn {

/// Returns the attention of new tokens to those before them, as generation needs it. `q` is [texts,
/// heads, new tokens, size]. `keys` and `values` are [texts, key heads, capacity, size] and hold in
/// front, for text i, the begins[i] tokens before the new ones, and then the new ones; what follows
/// is not looked at. A new token sees all tokens before it and itself. Has no derivative.
[[nodiscard]] at::Tensor cached_attention(const at::Tensor& q,
                                          const at::Tensor& keys,
                                          const at::Tensor& values,
                                          std::span<const std::int64_t> begins);

}  // namespace sheaf::nn
