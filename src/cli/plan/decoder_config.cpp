#include "cli/plan/decoder_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "hub/config_fields.h"
#include "models/size_limits.h"
#include "sheaf/base/error.h"

namespace sheaf::cli {
namespace {

using hub::ConfigFields;
using models::kLargestSize;
using nlohmann::json;

/// What one thing is called, by different families.
using Names = std::vector<std::string>;

const Names kLayers{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
const Names kWidth{"hidden_size", "n_embd", "n_embed", "d_model"};
const Names kHeads{"num_attention_heads", "n_head", "n_heads"};
const Names kSharedHeads{"num_key_value_heads", "num_kv_heads"};
const Names kContext{"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"};
// Falcon's and BLOOM's, whose files say nothing.
constexpr std::int64_t kUsualContext = 2048;

const Names kExperts{"num_local_experts", "num_experts", "n_routed_experts"};

/// The fields of a config.json. Models that also see have those of the decoder in text_config.
class DecoderFields {
 public:
  explicit DecoderFields(const json& config) {
    const auto text = config.find("text_config");
    if (text != config.end() && text->is_object()) places_.emplace_back(*text);
    places_.emplace_back(config);
  }

  [[nodiscard]] std::optional<std::int64_t> size(const Names& names,
                                                 std::int64_t largest = kLargestSize) const {
    for (const ConfigFields& place : places_) {
      for (const std::string& name : names) {
        if (place.has(name)) return place.size(name, largest);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t required(const Names& names,
                                      std::int64_t largest = kLargestSize) const {
    if (const auto found = size(names, largest)) return *found;
    throw UsageError(fmt::format("it has no {}", fmt::join(names, ", ")));
  }

  [[nodiscard]] bool flag_or(const std::string& name, bool otherwise) const {
    for (const ConfigFields& place : places_) {
      if (place.has(name)) return place.flag_or(name, otherwise);
    }
    return otherwise;
  }

  [[nodiscard]] std::string type() const { return places_.front().text_or("model_type", ""); }

  /// Of their parameters only some take part in a step, and no strategy here knows which.
  void refuse_experts() const {
    for (const ConfigFields& place : places_) {
      for (const std::string& name : kExperts) {
        // Models that could have some, and have none, say 0.
        if (!place.has(name) || place.json().at(name) == 0) continue;
        const std::int64_t experts = place.size(name, kLargestSize);
        if (experts == 1) continue;
        throw UsageError(
            fmt::format("mixtures of experts are not planned, and {} is {}", name, experts));
      }
    }
  }

 private:
  std::vector<ConfigFields> places_;
};

/// Refuses heads that no decoder has, so that products of their sizes fit into 64 bits.
void check_heads(const models::Shape& shape) {
  if (shape.heads > shape.width) {
    throw UsageError(fmt::format(
        "it has more heads, {}, than its width of {} can have", shape.heads, shape.width));
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw UsageError(fmt::format(
        "its {} heads cannot share {} of keys and values evenly", shape.heads, shape.kv_heads));
  }
}

/// Returns the width that three matrices must have to be as large as two of `hidden`.
std::int64_t of_three_matrices(std::int64_t hidden) { return (2 * hidden + 2) / 3; }

}  // namespace

models::Shape decoder_shape(const json& config) {
  const DecoderFields fields(config);
  fields.refuse_experts();
  models::Shape shape{.family = models::Family::llama,
                      .layers = fields.required(kLayers, models::kMostLayers),
                      .width = fields.required(kWidth),
                      .heads = fields.required(kHeads),
                      .vocabulary = fields.required({"vocab_size"}),
                      .context = fields.size(kContext).value_or(kUsualContext)};
  // One head of keys and values for all: how Falcon says it.
  const std::int64_t unsaid = fields.flag_or("multi_query", false) ? 1 : shape.heads;
  shape.kv_heads = fields.size(kSharedHeads).value_or(unsaid);
  check_heads(shape);
  shape.head_size =
      fields.size({"head_dim"}, kLargestSize / shape.heads).value_or(shape.width / shape.heads);
  // Llama's own name for it is used by those who have its three matrices.
  const auto gated = fields.size({"intermediate_size"});
  const std::int64_t plain = fields.size({"n_inner", "ffn_dim"}).value_or(4 * shape.width);
  shape.hidden = gated.value_or(of_three_matrices(plain));
  // What transformers takes for granted where the file says nothing.
  const bool tied = !gated || fields.type().starts_with("gemma");
  shape.tied_embeddings = fields.flag_or("tie_word_embeddings", tied);
  return shape;
}

}  // namespace sheaf::cli
