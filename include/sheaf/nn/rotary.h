#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::nn {

/// Cosines and sines of rotary positions: each [positions, size of a head / 2], or, where every
/// text has positions of its own, [texts, 1, length, size of a head / 2].
struct RotaryTable {
  at::Tensor cosines;
  at::Tensor sines;
};

struct RotaryOptions {
  std::int64_t head_size = 64;
  std::int64_t num_positions = 1024;
  double theta = 10000;
  at::ScalarType type = at::kFloat;
};

/// Throws UsageError if the size of a head is odd.
[[nodiscard]] RotaryTable make_rotary_table(const RotaryOptions& options, at::Device device);

/// Returns the rows of a table [positions, ...] that int64 positions [texts, length] name.
[[nodiscard]] RotaryTable rows_at(const RotaryTable& table, const at::Tensor& positions);

/// Rotates the pairs (i, i + size / 2) of each head of `x`, [batch, heads, length, size], by its
/// position, as the Llama family of Hugging Face does. Computes in the wider of both types and
/// returns that of `x`.
[[nodiscard]] at::Tensor rotate(const at::Tensor& x, const RotaryTable& table);

}  // namespace sheaf::nn
