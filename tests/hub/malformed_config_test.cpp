// A config.json that cannot be, or describes a model that is not to be had here: each is refused
// with one sentence that names the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/config.h"

namespace sheaf::hub {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Case {
  /// Kind of model whose good config is spoilt; empty: `text` is all.
  std::string kind;
  /// Fields to change, or the whole text.
  std::string text;
  std::string says;
};

std::vector<Case> cases() {
  return {
      {"", "", "not JSON"},
      {"", "{", "not JSON"},
      {"", "[]", "must be an object"},
      {"", "\"gpt2\"", "must be an object"},
      {"", R"({"model_type":"gpt2","model_type":"llama"})", "there twice"},
      {"", R"({"model_type":"gpt2","n_embd":1e999})", "not JSON"},
      {"", "{\"a\":" + std::string(1000, '[') + "}", "at most 64 deep"},
      {"", "{\"model_type\":\"\xff\"}", "not JSON"},
      {"", "{}", "model_type must be gpt2, llama or smollm3, got none"},
      {"", R"({"model_type":null})", "got none"},
      {"", R"({"model_type":"mistral"})", "got \"mistral\""},
      {"", R"({"model_type":"GPT2"})", "got \"GPT2\""},
      {"", R"({"model_type":7})", "model_type must be a text"},
      {"gpt2", R"({"quantization_config":{"bits":4}})", "quantization_config must be missing"},
      {"gpt2", R"({"n_embd":null})", "n_embd must be a whole number between 1 and"},
      {"gpt2", R"({"n_embd":0})", "n_embd"},
      {"gpt2", R"({"n_embd":-48})", "got -48"},
      {"gpt2", R"({"n_embd":48.0})", "got 48.0"},
      {"gpt2", R"({"n_embd":"48"})", "got \"48\""},
      {"gpt2", R"({"n_embd":18446744073709551615})", "n_embd"},
      {"gpt2", R"({"n_embd":4194305})", "and 4194304, got 4194305"},
      {"gpt2", R"({"n_embd":[48]})", "got [48]"},
      {"gpt2", R"({"n_layer":0})", "n_layer"},
      {"gpt2", R"({"n_layer":4097})", "and 4096, got 4097"},
      {"gpt2", R"({"n_head":0})", "n_head"},
      {"gpt2", R"({"n_head":5})", "n_head must be a divisor of n_embd = 48, got 5"},
      {"gpt2", R"({"n_inner":0})", "n_inner"},
      {"gpt2", R"({"n_positions":null})", "n_positions must be"},
      {"gpt2", R"({"vocab_size":null})", "vocab_size must be"},
      {"gpt2", R"({"vocab_size":true})", "got true"},
      {"gpt2", R"({"activation_function":"relu"})", "gelu_new or gelu_pytorch_tanh, got \"relu\""},
      {"gpt2", R"({"activation_function":3})", "activation_function must be a text"},
      {"gpt2", R"({"resid_pdrop":1})", "resid_pdrop must be a number from 0 to below 1"},
      {"gpt2", R"({"embd_pdrop":-0.1})", "embd_pdrop"},
      {"gpt2", R"({"attn_pdrop":"no"})", "attn_pdrop"},
      {"gpt2", R"({"layer_norm_epsilon":0})", "layer_norm_epsilon must be a number above 0"},
      {"gpt2", R"({"layer_norm_epsilon":"1e-5"})", "layer_norm_epsilon"},
      {"gpt2", R"({"scale_attn_weights":false})", "scale_attn_weights must be true, got false"},
      {"gpt2", R"({"scale_attn_by_inverse_layer_idx":true})", "scale_attn_by_inverse_layer_idx"},
      {"gpt2", R"({"add_cross_attention":true})", "add_cross_attention must be false"},
      {"gpt2", R"({"tie_word_embeddings":false})", "tie_word_embeddings must be true"},
      {"gpt2", R"({"tie_word_embeddings":1})", "must be true or false, got 1"},
      {"llama", R"({"hidden_size":null})", "hidden_size must be"},
      {"llama", R"({"intermediate_size":null})", "intermediate_size must be"},
      {"llama", R"({"num_hidden_layers":null})", "num_hidden_layers must be"},
      {"llama", R"({"num_attention_heads":null})", "num_attention_heads must be"},
      {"llama", R"({"max_position_embeddings":0})", "max_position_embeddings must be"},
      {"llama",
       R"({"head_dim":null,"num_attention_heads":7,"num_key_value_heads":7})",
       "num_attention_heads must be a divisor of hidden_size = 48, got 7"},
      {"llama", R"({"head_dim":9})", "must be even, got 9"},
      {"llama", R"({"head_dim":0})", "head_dim must be"},
      {"llama", R"({"num_key_value_heads":2})", "num_key_value_heads must be a divisor"},
      {"llama", R"({"hidden_act":"gelu"})", "hidden_act must be silu or swish"},
      {"llama", R"({"attention_bias":true})", "attention_bias must be false"},
      {"llama", R"({"mlp_bias":true})", "mlp_bias must be false"},
      {"llama", R"({"attention_dropout":2})", "attention_dropout"},
      {"llama", R"({"rms_norm_eps":-1})", "rms_norm_eps"},
      {"llama", R"({"rope_theta":0})", "rope_theta must be a number above 0"},
      {"llama", R"({"rope_theta":"big"})", "rope_theta"},
      {"llama", R"({"rope_scaling":"linear"})", "rope_scaling must be an object or null"},
      {"llama", R"({"rope_scaling":{"type":"linear","factor":2}})", "got type 'linear'"},
      {"llama", R"({"rope_scaling":{"rope_type":"llama3","factor":8}})", "got type 'llama3'"},
      {"llama", R"({"rope_scaling":{"rope_type":"yarn"}})", "got type 'yarn'"},
      {"llama", R"({"rope_scaling":{"rope_type":3}})", "rope_type must be a text"},
      {"llama", R"({"rope_parameters":{"rope_type":"dynamic"}})", "got type 'dynamic'"},
      {"llama", R"({"rope_parameters":{"partial_rotary_factor":0.5}})", "partial_rotary_factor"},
      {"llama", R"({"partial_rotary_factor":0.5})", "partial_rotary_factor must be 1, got 0.5"},
      {"smollm3", R"({"no_rope_layers":[1,1]})", "as long as num_hidden_layers = 3"},
      {"smollm3", R"({"no_rope_layers":[0,1,1]})", "no_rope_layers must be zero at every n-th"},
      {"smollm3", R"({"no_rope_layers":[1,2,1]})", "a list of zeros and ones"},
      {"smollm3", R"({"no_rope_layers":"none"})", "a list of zeros and ones"},
      {"smollm3", R"({"no_rope_layer_interval":0})", "no_rope_layer_interval"},
      {"smollm3", R"({"use_sliding_window":true,"sliding_window":128})", "sliding_window must be"},
      {"smollm3",
       R"({"layer_types":["full_attention","sliding_attention","full_attention"]})",
       "layer_types must be a list of full_attention"},
      {"smollm3", R"({"layer_types":"full_attention"})", "layer_types"},
  };
}

class MalformedConfig : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, MalformedConfig, ::testing::Range(std::size_t{0}, cases().size()));

std::string text_of(const Case& each) {
  if (each.kind.empty()) return each.text;
  json config = json::parse(format_config(testing::odd_shape(each.kind), at::kFloat));
  config.update(json::parse(each.text));
  return config.dump();
}

TEST_P(MalformedConfig, IsRefusedInOneSentence) {
  const Case each = cases()[GetParam()];
  try {
    static_cast<void>(parse_config(text_of(each)));
    ADD_FAILURE() << each.kind << each.text << ": nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(each.says)) << each.text;
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace sheaf::hub
