#pragma once

#include <cstddef>

#include "sheaf/plan/architecture.h"

// Where parameters stand in the list that parameters_of() returns, for those who walk through a
// model's layers.

namespace sheaf::plan {

namespace gpt2 {
inline constexpr std::size_t kTokens = 0;
inline constexpr std::size_t kPositions = 1;
inline constexpr std::size_t kFirstBlock = 2;
inline constexpr std::size_t kPerBlock = 12;
/// Of each pair the weight comes first, then the bias.
enum Place : std::size_t { ln_1 = 0, c_attn = 2, attn_proj = 4, ln_2 = 6, c_fc = 8, mlp_proj = 10 };
}  // namespace gpt2

namespace llama {
inline constexpr std::size_t kTokens = 0;
inline constexpr std::size_t kFirstBlock = 1;
inline constexpr std::size_t kPerBlock = 9;
enum Place : std::size_t { q, k, v, o, gate, up, down, input_norm, output_norm };
}  // namespace llama

/// Returns where the parameters of a block begin; with the number of layers, what is behind them.
[[nodiscard]] inline std::size_t first_of_block(const Architecture& model, std::int64_t block) {
  const auto number = static_cast<std::size_t>(block);
  return model.family == Family::gpt2 ? gpt2::kFirstBlock + number * gpt2::kPerBlock
                                      : llama::kFirstBlock + number * llama::kPerBlock;
}

}  // namespace sheaf::plan
