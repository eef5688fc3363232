#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>

namespace sheaf::testing {

struct PytorchHead;

/// The model that sheaf and PyTorch both train: a small GPT whose head is its embedding.
/// pytorch_peer.py has the same one; names, shapes and arithmetic must stay alike.
///
/// Queries, keys and values have no bias: a bias of the keys moves all scores of a
/// query alike, so its true gradient is zero; Adam would divide the rounding noise in it by its own
/// size, and every run would step it elsewhere.
class PytorchGpt final : public torch::nn::Module {
 public:
  static constexpr std::int64_t kVocabulary = 31;
  static constexpr std::int64_t kContext = 12;

  PytorchGpt();
  /// Returns the sum of the losses. In each row of `text`, kContext + 1 tokens, every token is to
  /// be told from those before it.
  at::Tensor forward(const at::Tensor& text);

 private:
  at::Tensor positions_;
  torch::nn::Embedding tokens_{nullptr};
  torch::nn::ModuleList blocks_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<PytorchHead> head_;
};

}  // namespace sheaf::testing
