#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <memory>

namespace sheaf::bench {

/// 13.9 million parameters. pytorch_peer.py has the same numbers.
struct GptOptions {
  std::int64_t width = 384;
  std::int64_t num_layers = 6;
  std::int64_t num_heads = 6;
  std::int64_t vocabulary = 8192;
  std::int64_t context = 256;
};

/// A GPT as pytorch_peer.py writes it, layer by layer; it crosses its blocks with sheaf::forward,
/// and the embedding is the head.
class Gpt : public torch::nn::Module {
 public:
  /// Draws matrices from N(0, 0.02) with LibTorch's generator, in the order of parameters(), so
  /// that Python gets the same values from the same seed.
  explicit Gpt(const GptOptions& options);

  /// Returns the mean loss. Both arguments have one row per text.
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& targets);

 private:
  torch::nn::Embedding tokens_;
  at::Tensor positions_;
  torch::nn::ModuleList blocks_;
  torch::nn::LayerNorm norm_;
};

}  // namespace sheaf::bench
