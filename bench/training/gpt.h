#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <memory>
#include <string>

namespace sheaf::bench {

struct GptOptions {
  std::int64_t width = 384;
  std::int64_t num_layers = 6;
  std::int64_t num_heads = 6;
  std::int64_t vocabulary = 8192;
  std::int64_t context = 256;
};

/// Tokens of a text; no model has a smaller context.
inline constexpr std::int64_t kTextLength = 256;

/// Returns the model called "14m" (13.9 million parameters) or "124m" (GPT-2's smallest).
/// pytorch_peer.py has the same numbers. Throws UsageError for other names.
[[nodiscard]] GptOptions gpt_of_size(const std::string& size);

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
