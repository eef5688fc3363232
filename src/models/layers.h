#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "sheaf/nn/blocks.h"
#include "sheaf/nn/dropout.h"
#include "sheaf/nn/linear.h"

// The layers that language models are made of. Each owns its parameters under the names of Hugging
// Face, fills them only by in-place draws, so that construction can be deferred, and never keeps
// anything made from them.

namespace sheaf::models {

/// Standard deviation of initial weights, in GPT-2 and in the Llama family.
inline constexpr double kInitialDeviation = 0.02;

struct Embedding final : torch::nn::Module {
  Embedding(std::int64_t rows, std::int64_t width);
  [[nodiscard]] at::Tensor forward(const at::Tensor& tokens) const;

  at::Tensor weight;
};

struct ProjectionOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  nn::WeightLayout layout = nn::WeightLayout::out_in;
  bool bias = false;
  double deviation = kInitialDeviation;
};

/// What is dropped of a projection before it is added to a residual.
struct Dropped {
  nn::DropoutSite site;
  nn::Randomness random;
};

struct Projection final : torch::nn::Module {
  explicit Projection(const ProjectionOptions& options);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  /// Returns forward(gelu(x)), keeping one activation less.
  [[nodiscard]] at::Tensor forward_gelu(const at::Tensor& x) const;
  /// Returns residual + forward(x), where nothing of that may be dropped in one piece.
  [[nodiscard]] at::Tensor forward_residual(const at::Tensor& x,
                                            const at::Tensor& residual,
                                            const Dropped& how = {}) const;
  [[nodiscard]] nn::Projected tensors() const { return {weight, bias}; }

  at::Tensor weight;
  at::Tensor bias;  // undefined where there is none
  nn::WeightLayout layout;
  /// Whether the product adds a residual itself, where it can.
  bool fuses_residual = true;
};

struct LayerNorm final : torch::nn::Module {
  LayerNorm(std::int64_t width, double epsilon);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  [[nodiscard]] nn::NormParameters tensors() const { return {weight, bias, epsilon}; }

  at::Tensor weight;
  at::Tensor bias;
  double epsilon;
};

struct RmsNorm final : torch::nn::Module {
  RmsNorm(std::int64_t width, double epsilon);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  [[nodiscard]] nn::NormParameters tensors() const { return {weight, {}, epsilon}; }

  at::Tensor weight;
  double epsilon;
};

/// A module that only gives its children a name in front of theirs.
struct Folder final : torch::nn::Module {};

/// Says whether what is fused can compute with `x` and parameters like `weight`: in one type, which
/// on CPUs is fp32. The number of samples must not matter: ranks without any wake units in the same
/// order as the others.
[[nodiscard]] bool can_fuse(const at::Tensor& x, const at::Tensor& weight);

/// Returns the site as it is in training, or one that drops nothing.
[[nodiscard]] nn::DropoutSite site_if(bool training, const nn::DropoutSite& site);

/// Cuts [texts, length, heads * size] into [texts, heads, length, size], without a copy.
[[nodiscard]] at::Tensor split_heads(const at::Tensor& x, std::int64_t heads);
/// Undoes split_heads.
[[nodiscard]] at::Tensor join_heads(const at::Tensor& x);

}  // namespace sheaf::models
