#include "models/gpt2.h"

#include <ATen/ops/gelu.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/language.h"
#include "models/layers.h"
#include "sheaf/models/cost.h"
#include "sheaf/models/key_value_cache.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/attention.h"
#include "sheaf/nn/dropout.h"
#include "sheaf/nn/embedding.h"

namespace sheaf::models {
namespace {

// Every place that drops has a number of its own: the embeddings 0, then three in each block.
constexpr std::int64_t kEmbeddingSite = 0;
constexpr std::int64_t kSitesPerBlock = 3;
enum class BlockSite : std::int64_t { weights = 1, attention = 2, mlp = 3 };

std::int64_t site_number(std::int64_t block, BlockSite site) {
  return kEmbeddingSite + block * kSitesPerBlock + static_cast<std::int64_t>(site);
}

/// What a block needs besides its input. Passed as a copy: a block may be run again after the
/// model's own call has ended.
struct BlockPass {
  nn::Documents documents;
  nn::Randomness random;
  KeyValueCache* cache = nullptr;
};

// Residual projections start smaller, so that the sum over all of them does not grow with depth.
double residual_deviation(const Shape& shape) {
  return kInitialDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
}

// GPT-2's layers keep weights as [in, out].
std::shared_ptr<Projection> conv1d(std::int64_t in, std::int64_t out, double deviation) {
  return std::make_shared<Projection>(ProjectionOptions{.in = in,
                                                        .out = out,
                                                        .layout = nn::WeightLayout::in_out,
                                                        .bias = true,
                                                        .deviation = deviation});
}

class Gpt2Attention final : public torch::nn::Module {
 public:
  Gpt2Attention(const Shape& shape, std::int64_t block)
      : heads_(shape.heads),
        block_(block),
        fused_(shape.fused),
        weights_site_{shape.attention_dropout, site_number(block, BlockSite::weights)},
        output_site_{shape.dropout, site_number(block, BlockSite::attention)},
        c_attn_(conv1d(shape.width, 3 * shape.width, kInitialDeviation)),
        c_proj_(conv1d(shape.width, shape.width, residual_deviation(shape))) {
    c_proj_->fuses_residual = shape.fused.residual;
    register_module("c_attn", c_attn_);
    register_module("c_proj", c_proj_);
  }

  /// Returns x with what attention makes of its norm.
  at::Tensor forward(const at::Tensor& x, const LayerNorm* norm, const BlockPass& pass) {
    const nn::AttentionInputs in = inputs(x, *norm);
    const at::Tensor q = split_heads(in.q, heads_);
    const at::Tensor k = split_heads(in.k, heads_);
    const at::Tensor v = split_heads(in.v, heads_);
    const nn::AttentionOptions how{.dropout = site_if(is_training(), weights_site_),
                                   .random = pass.random,
                                   .documents = pass.documents};
    const at::Tensor mixed =
        pass.cache != nullptr ? pass.cache->attend(block_, q, k, v) : nn::attention(q, k, v, how);
    return c_proj_->forward_residual(
        join_heads(mixed), in.residual, {site_if(is_training(), output_site_), pass.random});
  }

 private:
  [[nodiscard]] nn::AttentionInputs inputs(const at::Tensor& x, const LayerNorm& norm) const {
    if (fused_.norm && can_fuse(x, c_attn_->weight)) {
      const nn::AttentionInputOptions how{.q_size = x.size(-1),
                                          .kv_size = x.size(-1),
                                          .head_size = x.size(-1) / heads_,
                                          .layout = c_attn_->layout};
      return nn::attention_inputs(x, norm.tensors(), {c_attn_->tensors()}, how);
    }
    const std::vector<at::Tensor> parts = c_attn_->forward(norm.forward(x)).chunk(3, -1);
    return {parts[0], parts[1], parts[2], x};
  }

  std::int64_t heads_;
  std::int64_t block_;
  nn::Fused fused_;
  nn::DropoutSite weights_site_;
  nn::DropoutSite output_site_;
  std::shared_ptr<Projection> c_attn_;
  std::shared_ptr<Projection> c_proj_;
};

class Gpt2Mlp final : public torch::nn::Module {
 public:
  Gpt2Mlp(const Shape& shape, std::int64_t block)
      : fused_(shape.fused.mlp),
        site_{shape.dropout, site_number(block, BlockSite::mlp)},
        c_fc_(conv1d(shape.width, shape.hidden, kInitialDeviation)),
        c_proj_(conv1d(shape.hidden, shape.width, residual_deviation(shape))) {
    register_module("c_fc", c_fc_);
    register_module("c_proj", c_proj_);
  }

  /// Returns x with what the layers make of its norm.
  at::Tensor forward(const at::Tensor& x, const LayerNorm* norm, const nn::Randomness& random) {
    const nn::DropoutSite site = site_if(is_training(), site_);
    if (fused_ && site.probability == 0 && can_fuse(x, c_fc_->weight)) {
      return nn::gelu_mlp(x, norm->tensors(), c_fc_->tensors(), c_proj_->tensors(), c_fc_->layout);
    }
    const at::Tensor inner = c_fc_->forward(norm->forward(x));
    const at::Tensor y =
        fused_ ? c_proj_->forward_gelu(inner) : c_proj_->forward(at::gelu(inner, "tanh"));
    return x + nn::dropout(y, site, random);
  }

 private:
  bool fused_;
  nn::DropoutSite site_;
  std::shared_ptr<Projection> c_fc_;
  std::shared_ptr<Projection> c_proj_;
};

class Gpt2Block final : public torch::nn::Module {
 public:
  Gpt2Block(const Shape& shape, std::int64_t block)
      : ln_1_(std::make_shared<LayerNorm>(shape.width, shape.epsilon)),
        attn_(std::make_shared<Gpt2Attention>(shape, block)),
        ln_2_(std::make_shared<LayerNorm>(shape.width, shape.epsilon)),
        mlp_(std::make_shared<Gpt2Mlp>(shape, block)) {
    register_module("ln_1", ln_1_);
    register_module("attn", attn_);
    register_module("ln_2", ln_2_);
    register_module("mlp", mlp_);
  }

  at::Tensor forward(const at::Tensor& x, const BlockPass& pass) {
    const at::Tensor y = sheaf::forward(*attn_, x, ln_1_.get(), BlockPass(pass));
    return sheaf::forward(*mlp_, y, ln_2_.get(), nn::Randomness(pass.random));
  }

 private:
  std::shared_ptr<LayerNorm> ln_1_;
  std::shared_ptr<Gpt2Attention> attn_;
  std::shared_ptr<LayerNorm> ln_2_;
  std::shared_ptr<Gpt2Mlp> mlp_;
};

class Gpt2 final : public Model {
 public:
  explicit Gpt2(const Shape& shape)
      : shape_(shape),
        wte_(std::make_shared<Embedding>(shape.vocabulary, shape.width)),
        wpe_(std::make_shared<Embedding>(shape.context, shape.width)),
        ln_f_(std::make_shared<LayerNorm>(shape.width, shape.epsilon)) {
    const auto transformer = register_module("transformer", std::make_shared<Folder>());
    transformer->register_module("wte", wte_);
    transformer->register_module("wpe", wpe_);
    const auto h = transformer->register_module("h", std::make_shared<Folder>());
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks_.push_back(
          h->register_module(std::to_string(i), std::make_shared<Gpt2Block>(shape, i)));
    }
    transformer->register_module("ln_f", ln_f_);
  }

  at::Tensor forward(const at::Tensor& inputs,
                     const at::Tensor& targets,
                     const Pass& pass) override {
    check_texts(inputs, targets, shape_);
    check_positions(inputs, pass.positions);
    check_pass(inputs, targets, pass);
    at::Tensor x = nn::dropout(embedded(inputs, pass),
                               site_if(is_training(), {shape_.dropout, kEmbeddingSite}),
                               pass.random);
    const BlockPass block_pass{.documents = nn::documents_for(pass.positions, x),
                               .random = pass.random,
                               .cache = pass.cache};
    for (const auto& block : blocks_) x = sheaf::forward(*block, x, BlockPass(block_pass));
    end_pass(inputs, pass);
    const at::Tensor part = part_for_head(x, targets, pass);
    return loss_or_logits(ln_f_->forward(part), wte_->weight, targets, shape_.fused.loss);
  }

  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<std::string> blocks() const override {
    return block_names("transformer.h.", blocks_.size());
  }

 private:
  /// Returns the vectors of tokens and their positions.
  [[nodiscard]] at::Tensor embedded(const at::Tensor& inputs, const Pass& pass) const {
    if (pass.cache != nullptr) {
      const at::Tensor positions = pass.cache->positions(inputs.size(1), inputs.device());
      return wte_->forward(inputs) + wpe_->forward(positions);
    }
    if (pass.positions.defined()) return wte_->forward(inputs) + wpe_->forward(pass.positions);
    if (inputs.is_cuda() && inputs.numel() > 0) {
      return nn::text_embedding(wte_->weight, wpe_->weight, inputs);
    }
    return wte_->forward(inputs) + wpe_->weight.narrow(0, 0, inputs.size(1));
  }

  Shape shape_;
  std::shared_ptr<Embedding> wte_;
  std::shared_ptr<Embedding> wpe_;
  std::vector<std::shared_ptr<Gpt2Block>> blocks_;
  std::shared_ptr<LayerNorm> ln_f_;
};

}  // namespace

std::shared_ptr<Model> build_gpt2(const Shape& shape) { return std::make_shared<Gpt2>(shape); }

}  // namespace sheaf::models
