#include "gpt.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/linear.h>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"

namespace sheaf::bench {
namespace {

namespace nn = torch::nn;

constexpr double kDeviation = 0.02;

nn::LayerNorm layer_norm(std::int64_t width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}));
}

struct Block final : nn::Module {
  explicit Block(const GptOptions& options) : num_heads(options.num_heads) {
    const std::int64_t width = options.width;
    norm1 = register_module("norm1", layer_norm(width));
    qkv = register_module("qkv", nn::Linear(width, 3 * width));
    out = register_module("out", nn::Linear(width, width));
    norm2 = register_module("norm2", layer_norm(width));
    up = register_module("up", nn::Linear(width, 4 * width));
    down = register_module("down", nn::Linear(4 * width, width));
  }

  at::Tensor attend(const at::Tensor& x) {
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto heads = [&](const at::Tensor& part) {
      return part.view({batch, length, num_heads, width / num_heads}).transpose(1, 2);
    };
    const auto parts = qkv(x).split(width, -1);
    const at::Tensor y = at::scaled_dot_product_attention(
        heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, 0.0, /*is_causal=*/true);
    return out(y.transpose(1, 2).reshape({batch, length, width}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = x + attend(norm1(x));
    return y + down(at::gelu(up(norm2(y)), "tanh"));
  }

  std::int64_t num_heads;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};

}  // namespace

GptOptions gpt_of_size(const std::string& size) {
  if (size == "14m") return {};
  if (size == "124m") {
    return {.width = 768, .num_layers = 12, .num_heads = 12, .vocabulary = 50257, .context = 1024};
  }
  throw UsageError("--size must be 14m or 124m, not '" + size + "'");
}

Gpt::Gpt(const GptOptions& options)
    : tokens_(register_module("tokens", nn::Embedding(options.vocabulary, options.width))),
      positions_(register_parameter("positions", at::empty({options.context, options.width}))),
      blocks_(register_module("blocks", nn::ModuleList())),
      norm_(register_module("norm", layer_norm(options.width))) {
  for (std::int64_t i = 0; i < options.num_layers; ++i) {
    blocks_->push_back(std::make_shared<Block>(options));
  }
  const at::NoGradGuard no_grad;
  at::manual_seed(0);
  for (at::Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) parameter.normal_(0, kDeviation);
  }
  for (const auto& parameter : named_parameters()) {
    if (parameter.key().ends_with("bias")) at::Tensor(parameter.value()).zero_();
  }
}

at::Tensor Gpt::forward(const at::Tensor& tokens, const at::Tensor& targets) {
  at::Tensor x = tokens_(tokens) + positions_.slice(0, 0, tokens.size(1));
  for (const auto& block : *blocks_) x = sheaf::forward(*block->as<Block>(), x);
  const at::Tensor logits = at::linear(norm_(x), tokens_->weight);
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
}

}  // namespace sheaf::bench
