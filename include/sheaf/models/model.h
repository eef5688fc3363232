#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/models/cost.h"
#include "sheaf/models/options.h"
#include "sheaf/nn/randomness.h"

namespace sheaf::models {

class KeyValueCache;

/// What a pass gives back when there are no targets: the logits of each text's last token (for
/// generation), or those of all.
enum class Logits { last, all };

struct Pass {
  nn::Randomness random = {};
  Logits logits = Logits::last;
  /// Place of each token in its document, int64 in the shape of the inputs, where texts are packed:
  /// documents of one text see nothing of one another. Undefined: each text is one document.
  at::Tensor positions = {};
  /// Of a language model: tokens that were read before, which those of this pass follow; it takes
  /// them along. Only without targets and gradients, and without dropout of attention weights.
  KeyValueCache* cache = nullptr;
  /// How many tokens of each text count, where texts were made equally long by others behind them:
  /// the last of these is what Logits::last means. Empty: all.
  std::vector<std::int64_t> counts = {};
};

/// A model that can be trained: its loss, its costs, and which of its modules are blocks. It knows
/// nothing of ranks; it crosses its blocks with sheaf::forward, and is itself to be run with
/// sheaf::forward(model, inputs, targets, pass).
class Model : public torch::nn::Module {
 public:
  /// With targets, returns the sum of their losses, a scalar in fp32 (fp64 for a model in fp64);
  /// targets of nn::kIgnoredTarget do not count. With undefined targets, returns logits: [texts,
  /// vocabulary] or [texts, length, vocabulary] of a language model, [samples, classes] of a
  /// classifier.
  ///
  /// Inputs of a language model are int64 tokens [texts, length], targets have the same shape.
  /// Inputs of a classifier are bytes, or floats between 0 and 1, [samples, height, width], targets
  /// int64 [samples]. There may be no texts or samples at all: the loss is then 0, and backward
  /// gives every parameter a gradient of zeros.
  virtual at::Tensor forward(const at::Tensor& inputs,
                             const at::Tensor& targets,
                             const Pass& pass) = 0;

  /// Returns the sizes it was built with.
  [[nodiscard]] virtual const Shape& shape() const = 0;
  /// Returns what it costs, by layer.
  [[nodiscard]] Cost cost() const { return cost_of(shape()); }
  /// Returns the names of the modules that make good units: its blocks. Empty where the model is
  /// too small to have any.
  [[nodiscard]] virtual std::vector<std::string> blocks() const = 0;
};

/// Builds a model on the CPU with its usual initial values. Throws UsageError for options that
/// cannot be. Inside sheaf::deferred it allocates nothing. `attention` among the options is for who
/// runs the model: see nn::prefer_attention_kernel().
[[nodiscard]] std::shared_ptr<Model> build(const ModelOptions& options);
/// The same for a shape that is known, whose sizes must fit together.
[[nodiscard]] std::shared_ptr<Model> build_shape(const Shape& shape);

}  // namespace sheaf::models
