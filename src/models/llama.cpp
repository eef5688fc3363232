#include "models/llama.h"

#include <ATen/ops/silu.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/language.h"
#include "models/layers.h"
#include "models/rotary_cache.h"
#include "sheaf/models/cost.h"
#include "sheaf/models/key_value_cache.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/attention.h"
#include "sheaf/nn/rotary.h"

namespace sheaf::models {
namespace {

/// What a block needs besides its input. Passed as a copy: a block may be run again after the
/// model's own call has ended.
struct BlockPass {
  nn::RotaryTable rotary;
  nn::Documents documents;
  nn::Randomness random;
  KeyValueCache* cache = nullptr;
};

std::shared_ptr<Projection> projection(std::int64_t in, std::int64_t out) {
  return std::make_shared<Projection>(ProjectionOptions{.in = in, .out = out});
}

class LlamaAttention final : public torch::nn::Module {
 public:
  LlamaAttention(const Shape& shape, std::int64_t block)
      : heads_(shape.heads),
        kv_heads_(shape.kv_heads),
        block_(block),
        fused_(shape.fused),
        rotates_(shape.no_rope_interval == 0 || (block + 1) % shape.no_rope_interval != 0),
        site_{shape.attention_dropout, block},
        q_proj_(projection(shape.width, shape.heads * shape.head_size)),
        k_proj_(projection(shape.width, shape.kv_heads * shape.head_size)),
        v_proj_(projection(shape.width, shape.kv_heads * shape.head_size)),
        o_proj_(projection(shape.heads * shape.head_size, shape.width)) {
    o_proj_->fuses_residual = shape.fused.residual;
    register_module("q_proj", q_proj_);
    register_module("k_proj", k_proj_);
    register_module("v_proj", v_proj_);
    register_module("o_proj", o_proj_);
  }

  /// Returns x with what attention makes of its norm.
  at::Tensor forward(const at::Tensor& x, const RmsNorm* norm, const BlockPass& pass) {
    const nn::AttentionInputs in = heads_of(x, *norm, pass);
    const nn::AttentionOptions how{.dropout = site_if(is_training(), site_),
                                   .random = pass.random,
                                   .documents = pass.documents};
    const at::Tensor mixed = pass.cache != nullptr ? pass.cache->attend(block_, in.q, in.k, in.v)
                                                   : nn::attention(in.q, in.k, in.v, how);
    return o_proj_->forward_residual(join_heads(mixed), in.residual);
  }

 private:
  /// Returns q, k and v with their heads apart.
  [[nodiscard]] nn::AttentionInputs heads_of(const at::Tensor& x,
                                             const RmsNorm& norm,
                                             const BlockPass& pass) const {
    if (!fused_.norm || !can_fuse(x, q_proj_->weight)) return heads_by_layers(x, norm, pass);
    const nn::AttentionInputOptions how{
        .q_size = q_proj_->weight.size(0),
        .kv_size = k_proj_->weight.size(0),
        .head_size = q_proj_->weight.size(0) / heads_,
        .rotary = rotates_ ? std::optional(pass.rotary) : std::nullopt};
    const nn::AttentionInputs in = nn::attention_inputs(
        x, norm.tensors(), {q_proj_->tensors(), k_proj_->tensors(), v_proj_->tensors()}, how);
    return {split_heads(in.q, heads_),
            split_heads(in.k, kv_heads_),
            split_heads(in.v, kv_heads_),
            in.residual};
  }

  [[nodiscard]] nn::AttentionInputs heads_by_layers(const at::Tensor& x,
                                                    const RmsNorm& norm,
                                                    const BlockPass& pass) const {
    const at::Tensor normal = norm.forward(x);
    at::Tensor q = split_heads(q_proj_->forward(normal), heads_);
    at::Tensor k = split_heads(k_proj_->forward(normal), kv_heads_);
    const at::Tensor v = split_heads(v_proj_->forward(normal), kv_heads_);
    if (rotates_) {
      q = nn::rotate(q, pass.rotary);
      k = nn::rotate(k, pass.rotary);
    }
    return {q, k, v, x};
  }

  std::int64_t heads_;
  std::int64_t kv_heads_;
  std::int64_t block_;
  nn::Fused fused_;
  bool rotates_;
  nn::DropoutSite site_;
  std::shared_ptr<Projection> q_proj_;
  std::shared_ptr<Projection> k_proj_;
  std::shared_ptr<Projection> v_proj_;
  std::shared_ptr<Projection> o_proj_;
};

class LlamaMlp final : public torch::nn::Module {
 public:
  explicit LlamaMlp(const Shape& shape)
      : fused_(shape.fused.mlp),
        gate_proj_(projection(shape.width, shape.hidden)),
        up_proj_(projection(shape.width, shape.hidden)),
        down_proj_(projection(shape.hidden, shape.width)) {
    register_module("gate_proj", gate_proj_);
    register_module("up_proj", up_proj_);
    register_module("down_proj", down_proj_);
  }

  /// Returns x with what the layers make of its norm.
  at::Tensor forward(const at::Tensor& x, const RmsNorm* norm) {
    if (fused_ && can_fuse(x, gate_proj_->weight)) {
      return nn::swiglu_mlp(
          x, norm->tensors(), gate_proj_->weight, up_proj_->weight, down_proj_->weight);
    }
    const at::Tensor normal = norm->forward(x);
    const at::Tensor gate = gate_proj_->forward(normal), up = up_proj_->forward(normal);
    return x + down_proj_->forward(fused_ ? nn::swiglu(gate, up) : at::silu(gate) * up);
  }

 private:
  bool fused_;
  std::shared_ptr<Projection> gate_proj_;
  std::shared_ptr<Projection> up_proj_;
  std::shared_ptr<Projection> down_proj_;
};

class LlamaBlock final : public torch::nn::Module {
 public:
  LlamaBlock(const Shape& shape, std::int64_t block)
      : self_attn_(std::make_shared<LlamaAttention>(shape, block)),
        mlp_(std::make_shared<LlamaMlp>(shape)),
        input_layernorm_(std::make_shared<RmsNorm>(shape.width, shape.epsilon)),
        post_attention_layernorm_(std::make_shared<RmsNorm>(shape.width, shape.epsilon)) {
    register_module("self_attn", self_attn_);
    register_module("mlp", mlp_);
    register_module("input_layernorm", input_layernorm_);
    register_module("post_attention_layernorm", post_attention_layernorm_);
  }

  at::Tensor forward(const at::Tensor& x, const BlockPass& pass) {
    const at::Tensor y = sheaf::forward(*self_attn_, x, input_layernorm_.get(), BlockPass(pass));
    return sheaf::forward(*mlp_, y, post_attention_layernorm_.get());
  }

 private:
  std::shared_ptr<LlamaAttention> self_attn_;
  std::shared_ptr<LlamaMlp> mlp_;
  std::shared_ptr<RmsNorm> input_layernorm_;
  std::shared_ptr<RmsNorm> post_attention_layernorm_;
};

class Llama final : public Model {
 public:
  explicit Llama(const Shape& shape)
      : shape_(shape),
        rotary_({.head_size = shape.head_size,
                 .num_positions = shape.context,
                 .theta = shape.rope_theta}),
        embed_tokens_(std::make_shared<Embedding>(shape.vocabulary, shape.width)),
        norm_(std::make_shared<RmsNorm>(shape.width, shape.epsilon)) {
    const auto model = register_module("model", std::make_shared<Folder>());
    model->register_module("embed_tokens", embed_tokens_);
    const auto layers = model->register_module("layers", std::make_shared<Folder>());
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks_.push_back(
          layers->register_module(std::to_string(i), std::make_shared<LlamaBlock>(shape, i)));
    }
    model->register_module("norm", norm_);
    if (shape.tied_embeddings) return;
    lm_head_ = register_module("lm_head", projection(shape.width, shape.vocabulary));
  }

  at::Tensor forward(const at::Tensor& inputs,
                     const at::Tensor& targets,
                     const Pass& pass) override {
    check_texts(inputs, targets, shape_);
    check_positions(inputs, pass.positions);
    check_pass(inputs, targets, pass);
    at::Tensor x = embed_tokens_->forward(inputs);
    const BlockPass block_pass{.rotary = rotary_of(inputs, pass),
                               .documents = nn::documents_for(pass.positions, x),
                               .random = pass.random,
                               .cache = pass.cache};
    for (const auto& block : blocks_) x = sheaf::forward(*block, x, BlockPass(block_pass));
    end_pass(inputs, pass);
    const at::Tensor part = part_for_head(x, targets, pass);
    return loss_or_logits(norm_->forward(part), head_weight(), targets, shape_.fused.loss);
  }

  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<std::string> blocks() const override {
    return block_names("model.layers.", blocks_.size());
  }

 private:
  [[nodiscard]] nn::RotaryTable rotary_of(const at::Tensor& inputs, const Pass& pass) {
    const std::int64_t length = inputs.size(1);
    if (pass.cache != nullptr) {
      return nn::rows_at(rotary_.table(pass.cache->capacity(), inputs.device()),
                         pass.cache->positions(length, inputs.device()));
    }
    const nn::RotaryTable table = rotary_.table(length, inputs.device());
    return pass.positions.defined() ? nn::rows_at(table, pass.positions) : table;
  }

  [[nodiscard]] const at::Tensor& head_weight() const {
    return lm_head_ ? lm_head_->weight : embed_tokens_->weight;
  }

  Shape shape_;
  RotaryCache rotary_;
  std::shared_ptr<Embedding> embed_tokens_;
  std::vector<std::shared_ptr<LlamaBlock>> blocks_;
  std::shared_ptr<RmsNorm> norm_;
  std::shared_ptr<Projection> lm_head_;  // none where the embedding is the head
};

}  // namespace

std::shared_ptr<Model> build_llama(const Shape& shape) { return std::make_shared<Llama>(shape); }

}  // namespace sheaf::models
