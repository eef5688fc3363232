#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/models/model.h"
#include "support/run_command.h"
#include "support/safetensors.h"

namespace sheaf::testing {

/// A small model that Hugging Face's transformers and sheaf both have, in a folder of its own
/// through which they exchange tensors. transformers_peer.py has the same shapes.
class TransformersPeer {
 public:
  static constexpr std::int64_t kVocabulary = 61;
  static constexpr std::int64_t kContext = 24;

  /// `name` is gpt2, llama or smollm3.
  explicit TransformersPeer(std::string name);
  TransformersPeer(const TransformersPeer&) = delete;
  TransformersPeer& operator=(const TransformersPeer&) = delete;
  ~TransformersPeer();

  /// Returns why transformers cannot be run here; empty if it can.
  [[nodiscard]] static std::string why_not();

  /// Runs a Python script where transformers is, without a network.
  [[nodiscard]] static CommandResult run_python(const std::string& script,
                                                const std::vector<std::string>& arguments);

  /// Returns sheaf's model of this name with the weights of Hugging Face's, which whoever is called
  /// first makes up. Throws Error if names or shapes differ.
  [[nodiscard]] std::shared_ptr<models::Model> model();
  /// Lets Hugging Face's model do a forward and a backward pass from the same weights: returns
  /// `logits`, the sum of losses `loss`, and `gradient.NAME`.
  [[nodiscard]] TensorFile pass(const at::Tensor& inputs, const at::Tensor& targets);
  /// Lets it train from the same weights with AdamW, learning rate 1e-3 that falls to a tenth along
  /// a cosine, epsilon 1e-4, weight decay 0.1 for all, gradients clipped to norm 1. Tensors are
  /// [steps, texts, length]. Returns `losses`, the mean per token of every step, and `weight.NAME`.
  [[nodiscard]] TensorFile train(const at::Tensor& inputs, const at::Tensor& targets);

 private:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void run(const std::string& mode);

  std::string name_;
  std::string folder_;
};

}  // namespace sheaf::testing
