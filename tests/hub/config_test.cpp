#include "sheaf/hub/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/sample_models.h"

namespace sheaf::hub {
namespace {

using models::Family;
using models::Shape;
using nlohmann::json;

// As transformers 4.57 writes them.
constexpr const char* kGpt2 = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.2,
  "bos_token_id": 50256, "dtype": "float32", "embd_pdrop": 0.3, "eos_token_id": 50256,
  "initializer_range": 0.02, "layer_norm_epsilon": 1e-04, "model_type": "gpt2", "n_embd": 48,
  "n_head": 3, "n_inner": null, "n_layer": 2, "n_positions": 19, "reorder_and_upcast_attn": false,
  "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true,
  "summary_activation": null, "transformers_version": "4.57.6", "use_cache": true,
  "vocab_size": 101})";
constexpr const char* kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "bos_token_id": 1, "dtype": "bfloat16", "eos_token_id": 2, "head_dim": 10, "hidden_act": "silu",
  "hidden_size": 48, "initializer_range": 0.02, "intermediate_size": 77,
  "max_position_embeddings": 19, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 3, "num_hidden_layers": 3, "num_key_value_heads": 1,
  "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "transformers_version": "4.57.6", "vocab_size": 101})";
constexpr const char* kSmolLm3 = R"({
  "architectures": ["SmolLM3ForCausalLM"], "attention_bias": false, "dtype": "bfloat16",
  "hidden_act": "silu", "hidden_size": 48, "intermediate_size": 77,
  "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
  "max_position_embeddings": 19, "max_window_layers": 28, "mlp_bias": false,
  "model_type": "smollm3", "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0],
  "num_attention_heads": 4, "num_hidden_layers": 4, "num_key_value_heads": 2,
  "pretraining_tp": 2, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 5000000.0,
  "sliding_window": null, "use_sliding_window": false, "vocab_size": 101})";

/// A config with one field changed.
Shape changed(const char* text, const std::string& field, const json& value) {
  json config = json::parse(text);
  config[field] = value;
  return parse_config(config.dump()).shape;
}

TEST(Config, OfGpt2IsRead) {
  const Config config = parse_config(kGpt2);
  EXPECT_EQ(config.shape.family, Family::gpt2);
  EXPECT_EQ(config.shape.layers, 2);
  EXPECT_EQ(config.shape.width, 48);
  EXPECT_EQ(config.shape.head_size, 16);
  EXPECT_EQ(config.shape.hidden, 4 * 48);
  EXPECT_EQ(config.shape.context, 19);
  EXPECT_EQ(config.shape.epsilon, 1e-4);
  EXPECT_EQ(config.shape.attention_dropout, 0.2);
  EXPECT_EQ(config.shape.dropout, 0.1);
  EXPECT_EQ(config.embedding_dropout, 0.3);
  EXPECT_EQ(changed(kGpt2, "n_inner", 50).hidden, 50);
}

TEST(Config, OfLlamaIsRead) {
  const Shape shape = parse_config(kLlama).shape;
  EXPECT_EQ(shape.family, Family::llama);
  EXPECT_EQ(shape.head_size, 10);
  EXPECT_EQ(shape.kv_heads, 1);
  EXPECT_EQ(shape.hidden, 77);
  EXPECT_EQ(shape.rope_theta, 500000);
  EXPECT_EQ(shape.no_rope_interval, 0);
  EXPECT_FALSE(shape.tied_embeddings);
  EXPECT_EQ(changed(kLlama, "head_dim", nullptr).head_size, 16);
  EXPECT_EQ(changed(kLlama, "num_key_value_heads", nullptr).kv_heads, 3);
  EXPECT_TRUE(changed(kLlama, "tie_word_embeddings", true).tied_embeddings);
}

TEST(Config, OfSmolLm3IsRead) {
  const Shape shape = parse_config(kSmolLm3).shape;
  EXPECT_EQ(shape.family, Family::llama);
  EXPECT_EQ(shape.no_rope_interval, 4);
  EXPECT_TRUE(shape.tied_embeddings);
  EXPECT_EQ(changed(kSmolLm3, "no_rope_layers", nullptr).no_rope_interval, 4);
  EXPECT_EQ(changed(kSmolLm3, "no_rope_layers", {1, 0, 1, 0}).no_rope_interval, 2);
  EXPECT_EQ(changed(kSmolLm3, "no_rope_layers", {1, 1, 1, 1}).no_rope_interval, 0);
}

TEST(Config, MayHavePositionsAsNewerVersionsWriteThem) {
  json config = json::parse(kLlama);
  config.erase("rope_theta");
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 777.0}};
  EXPECT_EQ(parse_config(config.dump()).shape.rope_theta, 777);
  EXPECT_EQ(changed(kLlama, "rope_scaling", {{"type", "default"}}).rope_theta, 500000);
}

TEST(Config, IsReadAsItIsWritten) {
  for (const std::string& kind : testing::kinds()) {
    const Shape shape = testing::odd_shape(kind);
    const Shape back = parse_config(format_config(shape, at::kFloat)).shape;
    EXPECT_EQ(format_config(back, at::kFloat), format_config(shape, at::kFloat)) << kind;
    EXPECT_EQ(back.no_rope_interval, shape.no_rope_interval) << kind;
    EXPECT_EQ(back.tied_embeddings, shape.tied_embeddings) << kind;
    EXPECT_EQ(back.head_size, shape.head_size) << kind;
  }
}

TEST(Config, KeepsUnknownFieldsWhenTheTypeChanges) {
  const json old = json::parse(R"({"model_type":"gpt2","torch_dtype":"float32","mine":[1,2]})");
  const json changed = json::parse(with_dtype(old.dump(), at::kBFloat16));
  EXPECT_EQ(changed["torch_dtype"], "bfloat16");
  EXPECT_EQ(changed["mine"], json({1, 2}));
  EXPECT_EQ(json::parse(with_dtype(kGpt2, at::kHalf))["dtype"], "float16");
  EXPECT_FALSE(json::parse(with_dtype(kGpt2, at::kHalf)).contains("torch_dtype"));
}

}  // namespace
}  // namespace sheaf::hub
