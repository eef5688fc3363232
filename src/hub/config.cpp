#include "sheaf/hub/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "checkpoint/json_object.h"
#include "hub/config_fields.h"
#include "models/size_limits.h"
#include "sheaf/base/error.h"

namespace sheaf::hub {
namespace {

using models::Family;
using models::kLargestSize;
using models::kMostLayers;
using models::Shape;

Config gpt2_config(const ConfigFields& fields) {
  fields.expect_one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  fields.expect_flag("scale_attn_weights", true);
  fields.expect_flag("scale_attn_by_inverse_layer_idx", false);
  fields.expect_flag("add_cross_attention", false);
  fields.expect_flag("tie_word_embeddings", true);
  Shape shape{.family = Family::gpt2,
              .layers = fields.size("n_layer", kMostLayers),
              .width = fields.size("n_embd", kLargestSize),
              .heads = fields.size("n_head", kLargestSize),
              .vocabulary = fields.size("vocab_size", kLargestSize),
              .context = fields.size("n_positions", kLargestSize),
              .dropout = fields.probability_or("resid_pdrop", 0.1),
              .attention_dropout = fields.probability_or("attn_pdrop", 0.1),
              .epsilon = fields.positive_or("layer_norm_epsilon", 1e-5),
              .tied_embeddings = true};
  if (shape.width % shape.heads != 0) {
    fields.refuse("n_head", fmt::format("a divisor of n_embd = {}", shape.width));
  }
  shape.kv_heads = shape.heads;
  shape.head_size = shape.width / shape.heads;
  shape.hidden = fields.size_or("n_inner", kLargestSize, 4 * shape.width);
  return {.shape = shape, .embedding_dropout = fields.probability_or("embd_pdrop", 0.1)};
}

void check_whole_heads_turn(const ConfigFields& fields) {
  if (fields.positive_or("partial_rotary_factor", 1) != 1) {
    fields.refuse("partial_rotary_factor", "1");
  }
}

/// Refuses positions that are stretched or partial; returns their base.
double rope_theta(const ConfigFields& fields, double otherwise) {
  check_whole_heads_turn(fields);
  // Newer versions of transformers keep all of it in rope_parameters.
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(name)) continue;
    if (!fields.json().at(name).is_object()) fields.refuse(name, "an object or null");
    const ConfigFields inner(fields.json().at(name));
    for (const char* type : {"rope_type", "type"}) {
      const std::string kind = inner.text_or(type, "default");
      if (kind == "default") continue;
      throw UsageError(
          fmt::format("{} must be null or of type default: sheaf has plain rotary positions, "
                      "got type {}",
                      name,
                      in_quotes(kind)));
    }
    otherwise = inner.positive_or("rope_theta", otherwise);
    check_whole_heads_turn(inner);
  }
  return fields.positive_or("rope_theta", otherwise);
}

bool has_interval(const std::vector<std::int64_t>& rotates, std::int64_t interval) {
  for (std::size_t i = 0; i < rotates.size(); ++i) {
    const bool goes_without = (static_cast<std::int64_t>(i) + 1) % interval == 0;
    if ((rotates[i] == 1) == goes_without) return false;
  }
  return true;
}

/// Returns after how many layers one goes without rotary positions. transformers has a list: 1
/// means that a layer has them.
std::int64_t no_rope_interval(const ConfigFields& fields, std::int64_t layers) {
  const std::int64_t said = fields.size_or("no_rope_layer_interval", kMostLayers, 4);
  if (!fields.has("no_rope_layers")) return said;
  const std::vector<std::int64_t> rotates = fields.bits("no_rope_layers");
  if (static_cast<std::int64_t>(rotates.size()) != layers) {
    fields.refuse("no_rope_layers", fmt::format("as long as num_hidden_layers = {}", layers));
  }
  if (has_interval(rotates, said)) return said;
  const auto first = std::find(rotates.begin(), rotates.end(), 0);
  if (first == rotates.end()) return 0;
  const std::int64_t interval = first - rotates.begin() + 1;
  if (!has_interval(rotates, interval)) {
    fields.refuse("no_rope_layers", "zero at every n-th layer and one elsewhere");
  }
  return interval;
}

void check_attention(const ConfigFields& fields) {
  fields.expect_flag("attention_bias", false);
  fields.expect_flag("mlp_bias", false);
  if (fields.flag_or("use_sliding_window", false)) fields.expect_none("sliding_window");
  if (!fields.has("layer_types")) return;
  const auto& types = fields.json().at("layer_types");
  const auto is_full = [](const auto& type) { return type == "full_attention"; };
  if (!types.is_array() || !std::all_of(types.begin(), types.end(), is_full)) {
    fields.refuse("layer_types", "a list of full_attention");
  }
}

void check_heads(const ConfigFields& fields, const Shape& shape) {
  if (!fields.has("head_dim") && shape.width % shape.heads != 0) {
    fields.refuse("num_attention_heads", fmt::format("a divisor of hidden_size = {}", shape.width));
  }
  if (shape.heads % shape.kv_heads != 0) {
    fields.refuse("num_key_value_heads",
                  fmt::format("a divisor of num_attention_heads = {}", shape.heads));
  }
  if (shape.head_size % 2 != 0) {
    throw UsageError(
        fmt::format("rotary positions turn pairs, so the size of a head (head_dim, or hidden_size "
                    "/ num_attention_heads) must be even, got {}",
                    shape.head_size));
  }
}

/// What Llama and SmolLM3 have in common; they differ in what is meant where nothing is said.
Config llama_config(const ConfigFields& fields, bool smollm3) {
  fields.expect_one_of("hidden_act", {"silu", "swish"});
  check_attention(fields);
  Shape shape{.family = Family::llama,
              .layers = fields.size("num_hidden_layers", kMostLayers),
              .width = fields.size("hidden_size", kLargestSize),
              .heads = fields.size("num_attention_heads", kLargestSize),
              .hidden = fields.size("intermediate_size", kLargestSize),
              .vocabulary = fields.size("vocab_size", kLargestSize),
              .context = fields.size("max_position_embeddings", kLargestSize),
              .attention_dropout = fields.probability_or("attention_dropout", 0),
              .epsilon = fields.positive_or("rms_norm_eps", 1e-6),
              .rope_theta = rope_theta(fields, smollm3 ? 2e6 : 1e4),
              .tied_embeddings = fields.flag_or("tie_word_embeddings", smollm3)};
  // A null means as many as heads, also where a missing field means something else.
  const bool default_is_four = smollm3 && !fields.json().contains("num_key_value_heads");
  shape.kv_heads =
      fields.size_or("num_key_value_heads", kLargestSize, default_is_four ? 4 : shape.heads);
  shape.head_size = fields.size_or("head_dim", kLargestSize, shape.width / shape.heads);
  if (smollm3) shape.no_rope_interval = no_rope_interval(fields, shape.layers);
  check_heads(fields, shape);
  return {.shape = shape};
}

const char* dtype_word(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return "bfloat16";
  return dtype == at::kHalf ? "float16" : "float32";
}

std::string finished(const nlohmann::json& config) { return config.dump(/*indent=*/2) + "\n"; }

nlohmann::json gpt2_json(const Shape& shape) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"vocab_size", shape.vocabulary},
          {"n_positions", shape.context},
          {"n_embd", shape.width},
          {"n_layer", shape.layers},
          {"n_head", shape.heads},
          {"n_inner", shape.hidden},
          {"resid_pdrop", shape.dropout},
          {"embd_pdrop", shape.dropout},
          {"attn_pdrop", shape.attention_dropout},
          {"layer_norm_epsilon", shape.epsilon}};
}

nlohmann::json llama_json(const Shape& shape) {
  const bool smollm3 = shape.no_rope_interval > 0;
  nlohmann::json config = {
      {"architectures", {smollm3 ? "SmolLM3ForCausalLM" : "LlamaForCausalLM"}},
      {"model_type", smollm3 ? "smollm3" : "llama"},
      {"hidden_act", "silu"},
      {"vocab_size", shape.vocabulary},
      {"max_position_embeddings", shape.context},
      {"hidden_size", shape.width},
      {"intermediate_size", shape.hidden},
      {"num_hidden_layers", shape.layers},
      {"num_attention_heads", shape.heads},
      {"num_key_value_heads", shape.kv_heads},
      {"head_dim", shape.head_size},
      {"rms_norm_eps", shape.epsilon},
      {"rope_theta", shape.rope_theta},
      {"attention_dropout", shape.attention_dropout},
      {"tie_word_embeddings", shape.tied_embeddings},
  };
  if (smollm3) config["no_rope_layer_interval"] = shape.no_rope_interval;
  return config;
}

}  // namespace

Config parse_config(std::string_view text) {
  const ConfigFields fields(checkpoint::parse_object(text));
  fields.expect_none("quantization_config");
  const std::string type = fields.text_or("model_type", "");
  if (type == "gpt2") return gpt2_config(fields);
  if (type == "llama") return llama_config(fields, /*smollm3=*/false);
  if (type == "smollm3") return llama_config(fields, /*smollm3=*/true);
  fields.refuse("model_type", "gpt2, llama or smollm3");
}

std::string format_config(const Shape& shape, at::ScalarType dtype) {
  if (!shape.is_language_model()) {
    throw UsageError("only language models are written as Hugging Face folders");
  }
  nlohmann::json config = shape.family == Family::gpt2 ? gpt2_json(shape) : llama_json(shape);
  config["torch_dtype"] = dtype_word(dtype);
  // The defaults of transformers mean tokens that a small vocabulary does not have.
  for (const char* token : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    config[token] = nullptr;
  }
  return finished(config);
}

std::string with_dtype(std::string_view text, at::ScalarType dtype) {
  nlohmann::json config = checkpoint::parse_object(text);
  // Newer versions of transformers call it dtype.
  const bool is_new = config.contains("dtype");
  config[is_new ? "dtype" : "torch_dtype"] = dtype_word(dtype);
  if (is_new) config.erase("torch_dtype");
  return finished(config);
}

}  // namespace sheaf::hub
