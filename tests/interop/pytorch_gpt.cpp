#include "pytorch_gpt.h"

#include "sheaf/module/forward.h"

namespace sheaf::testing {

namespace nn = torch::nn;

namespace {

constexpr std::int64_t kWidth = 24;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kLayers = 3;

struct BlockImpl : nn::Module {
  BlockImpl() {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    qkv = register_module("qkv", nn::Linear(nn::LinearOptions(kWidth, 3 * kWidth).bias(false)));
    out = register_module("out", nn::Linear(kWidth, kWidth));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    up = register_module("up", nn::Linear(kWidth, 4 * kWidth));
    down = register_module("down", nn::Linear(4 * kWidth, kWidth));
  }

  at::Tensor attend(const at::Tensor& x) {
    std::vector<at::Tensor> parts = qkv(x).chunk(3, -1);
    for (at::Tensor& part : parts) part = part.unflatten(-1, {kHeads, -1}).transpose(1, 2);
    const at::Tensor mixed = at::scaled_dot_product_attention(
        parts[0], parts[1], parts[2], /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
    return out(mixed.transpose(1, 2).flatten(2));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = x + attend(norm1(x));
    return y + down(at::gelu(up(norm2(y))));
  }

  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Block);

}  // namespace

/// The embedding's weight, registered once more under its own name.
struct PytorchHead final : nn::Module {
  explicit PytorchHead(const at::Tensor& tied) : weight(register_parameter("weight", tied)) {}
  at::Tensor forward(const at::Tensor& x) { return at::linear(x, weight); }
  at::Tensor weight;
};

PytorchGpt::PytorchGpt() {
  // Small values, so that the loss starts at that of a guess.
  positions_ = register_parameter("positions", at::randn({kContext, kWidth}) * 0.1);
  tokens_ = register_module("tokens", nn::Embedding(kVocabulary, kWidth));
  nn::init::normal_(tokens_->weight, /*mean=*/0, /*std=*/0.1);
  blocks_ = register_module("blocks", nn::ModuleList());
  for (std::int64_t i = 0; i < kLayers; ++i) blocks_->push_back(Block());
  norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
  head_ = register_module("head", std::make_shared<PytorchHead>(tokens_->weight));
}

at::Tensor PytorchGpt::forward(const at::Tensor& text) {
  at::Tensor x = tokens_(text.narrow(1, 0, kContext)) + positions_;
  for (const auto& block : *blocks_) x = sheaf::forward(*block->as<Block>(), x);
  const at::Tensor logits = head_->forward(norm_(x));
  const at::Tensor targets = text.narrow(1, 1, kContext);
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::Sum);
}

}  // namespace sheaf::testing
