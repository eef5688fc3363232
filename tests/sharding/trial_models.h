#pragma once

#include <tuple>

#include "sharding/trials.h"
#include "sheaf/module/forward.h"

namespace sheaf::testing {

inline at::Tensor sum_of_losses(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum);
}

/// A layer around a weight that others may have, too.
struct LayerImpl : torch::nn::Module {
  explicit LayerImpl(const at::Tensor& shared)
      : weight(register_parameter("weight", shared)),
        bias(register_parameter("bias", at::randn({shared.size(0)}) * 0.1)) {}
  LayerImpl(std::int64_t in, std::int64_t out) : LayerImpl(at::randn({out, in}) * 0.4) {}
  at::Tensor forward(const at::Tensor& x) { return at::tanh(at::linear(x, weight, bias)); }
  at::Tensor weight, bias;
};
TORCH_MODULE(Layer);

/// Three layers and nothing else.
struct Stack : TinyModel {
  Stack()
      : first(register_module("first", Layer(kFeatures, 7))),
        second(register_module("second", Layer(7, 7))),
        head(register_module("head", Layer(7, kClasses))) {}
  at::Tensor logits(const at::Tensor& inputs) {
    return sheaf::forward(*head, sheaf::forward(*second, sheaf::forward(*first, inputs)));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(logits(inputs), targets);
  }
  Layer first, second, head;
};

/// Two layers that share their weight, and a head.
struct TiedSiblings final : TinyModel {
  TiedSiblings()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", Layer(first->weight))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = sheaf::forward(*second, sheaf::forward(*first, inputs));
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, second, head;
};

}  // namespace sheaf::testing
