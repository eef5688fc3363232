#include "sheaf/plan/architecture.h"

#include <fmt/format.h>

#include <string_view>

#include "plan/parameter_places.h"

namespace sheaf::plan {
namespace {

/// Adds parameters under names that begin with `prefix`.
class Lister {
 public:
  Lister(std::vector<Parameter>& all, std::string prefix, int block)
      : all_(all), prefix_(std::move(prefix)), block_(block) {}

  void add(std::string_view name, std::int64_t numel) {
    all_.push_back({fmt::format("{}{}", prefix_, name), numel, block_});
  }
  void add_with_bias(std::string_view name, std::int64_t numel, std::int64_t bias) {
    add(fmt::format("{}.weight", name), numel);
    add(fmt::format("{}.bias", name), bias);
  }

 private:
  std::vector<Parameter>& all_;
  std::string prefix_;
  int block_;
};

void list_gpt2(const Architecture& model, std::vector<Parameter>& all) {
  const std::int64_t d = model.width;
  Lister outside(all, "transformer.", kNoBlock);
  outside.add("wte.weight", model.vocabulary * d);
  outside.add("wpe.weight", model.context * d);
  for (int i = 0; i < model.layers; ++i) {
    Lister block(all, fmt::format("transformer.h.{}.", i), i);
    block.add_with_bias("ln_1", d, d);
    block.add_with_bias("attn.c_attn", d * 3 * d, 3 * d);
    block.add_with_bias("attn.c_proj", d * d, d);
    block.add_with_bias("ln_2", d, d);
    block.add_with_bias("mlp.c_fc", d * model.hidden, model.hidden);
    block.add_with_bias("mlp.c_proj", model.hidden * d, d);
  }
  outside.add_with_bias("ln_f", d, d);
}

void list_llama(const Architecture& model, std::vector<Parameter>& all) {
  const std::int64_t d = model.width;
  const std::int64_t q = model.heads * model.head_size;
  const std::int64_t kv = model.kv_heads * model.head_size;
  Lister outside(all, "", kNoBlock);
  outside.add("model.embed_tokens.weight", model.vocabulary * d);
  for (int i = 0; i < model.layers; ++i) {
    Lister block(all, fmt::format("model.layers.{}.", i), i);
    block.add("self_attn.q_proj.weight", d * q);
    block.add("self_attn.k_proj.weight", d * kv);
    block.add("self_attn.v_proj.weight", d * kv);
    block.add("self_attn.o_proj.weight", q * d);
    block.add("mlp.gate_proj.weight", d * model.hidden);
    block.add("mlp.up_proj.weight", d * model.hidden);
    block.add("mlp.down_proj.weight", model.hidden * d);
    block.add("input_layernorm.weight", d);
    block.add("post_attention_layernorm.weight", d);
  }
  outside.add("model.norm.weight", d);
  if (!model.tied_embeddings) outside.add("lm_head.weight", d * model.vocabulary);
}

}  // namespace

std::vector<Parameter> parameters_of(const Architecture& model) {
  std::vector<Parameter> all;
  model.family == Family::gpt2 ? list_gpt2(model, all) : list_llama(model, all);
  return all;
}

std::int64_t num_parameters(const Architecture& model) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_of(model)) sum += parameter.numel;
  return sum;
}

}  // namespace sheaf::plan
