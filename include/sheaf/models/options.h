#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/nn/attention.h"
#include "sheaf/nn/fused.h"

namespace sheaf::models {

/// A preset, and what is to be different from it: 0 (or below 0 where 0 has a meaning) keeps the
/// preset's value.
struct ModelOptions {
  std::string preset = "gpt2-124m";
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  /// Heads of keys and values; only for the Llama family.
  std::int64_t kv_heads = 0;
  /// Width inside the feed-forward part, or of the classifier's hidden layers. GPT-2's follows the
  /// width, four times as much, unless it is set.
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  /// Longest text in tokens.
  std::int64_t context = 0;
  double dropout = -1;
  double attention_dropout = -1;
  nn::AttentionKernel attention = nn::AttentionKernel::automatic;
  nn::Fused fused = {};
  /// Folder of a Hugging Face model to start from, in place of a preset. For who builds the model:
  /// build() and resolve() know nothing of files.
  std::string from = {};
};

enum class Family { gpt2, llama, cnn, mlp };

/// Everything that decides a model's shape: a preset with the changes applied.
struct Shape {
  Family family = Family::gpt2;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t hidden = 0;
  /// Tokens, or classes of a classifier.
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;
  double dropout = 0;
  double attention_dropout = 0;
  double epsilon = 1e-5;
  double rope_theta = 10000;
  /// Every so many layers one goes without rotary positions; 0: all have them.
  std::int64_t no_rope_interval = 0;
  bool tied_embeddings = true;
  /// How it is computed.
  nn::Fused fused = {};

  [[nodiscard]] bool is_language_model() const {
    return family == Family::gpt2 || family == Family::llama;
  }
};

/// Returns the names of all presets, such as gpt2-124m, smollm3-3b, llama-7b, mnist-cnn.
[[nodiscard]] const std::vector<std::string>& preset_names();

/// Applies the options to their preset. Throws UsageError that names the option, the value and what
/// is possible.
[[nodiscard]] Shape resolve(const ModelOptions& options);

/// Applies the options' dropouts to a shape; `model` is what errors call it. Throws UsageError as
/// resolve() does.
void set_dropouts(const ModelOptions& options, const std::string& model, Shape& shape);

template <class Fields>
void describe(Fields& field, ModelOptions& options) {
  field("preset", options.preset, "shape to start from", one_of(preset_names()));
  field("layers", options.layers, "number of blocks; 0: the preset's", at_least(0));
  field("width", options.width, "size of a token's vector; 0: the preset's", at_least(0));
  field("heads", options.heads, "attention heads; 0: the preset's", at_least(0));
  field("kv_heads",
        options.kv_heads,
        "heads of keys and values (Llama); 0: the preset's",
        at_least(0));
  field("hidden", options.hidden, "width of the feed-forward part; 0: the preset's", at_least(0));
  field("vocabulary", options.vocabulary, "number of tokens; 0: the preset's", at_least(0));
  field("context", options.context, "longest text in tokens; 0: the preset's", at_least(0));
  field("dropout",
        options.dropout,
        "dropout of embeddings and residuals; -1: the preset's",
        between(-1.0, 0.999));
  field("attention_dropout",
        options.attention_dropout,
        "dropout of attention weights; -1: the preset's",
        between(-1.0, 0.999));
  field("attention", options.attention, "attention kernel that CUDA tries first");
  field.section("fused", options.fused);
  field("from", options.from, "folder of a Hugging Face model to start from; empty: the preset");
}

}  // namespace sheaf::models
