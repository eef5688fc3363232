#include "sheaf/models/cost.h"

#include <fmt/format.h>

#include "models/images.h"

namespace sheaf::models {
namespace {

/// Returns what products with `weights` numbers cost a token: a multiplication and an addition
/// each.
double products(std::int64_t weights) { return 2.0 * static_cast<double>(weights); }

/// Returns what the scores and the weighted sum of attention cost a token.
double attention_products(const Shape& shape) {
  return 4.0 * static_cast<double>(shape.context) *
         static_cast<double>(shape.heads * shape.head_size);
}

void add_gpt2(const Shape& shape, std::vector<LayerCost>& layers) {
  const std::int64_t d = shape.width;
  const std::int64_t attention = d * 3 * d + d * d;
  const std::int64_t mlp = 2 * d * shape.hidden;
  const std::int64_t norm = 2 * d;
  layers.push_back({"embedding", (shape.vocabulary + shape.context) * d, 0});
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    layers.push_back({fmt::format("transformer.h.{}.attn", i),
                      norm + attention + 4 * d,
                      products(attention) + attention_products(shape)});
    layers.push_back(
        {fmt::format("transformer.h.{}.mlp", i), norm + mlp + shape.hidden + d, products(mlp)});
  }
  layers.push_back({"head", norm, products(shape.vocabulary * d)});
}

void add_llama(const Shape& shape, std::vector<LayerCost>& layers) {
  const std::int64_t d = shape.width;
  const std::int64_t q = shape.heads * shape.head_size;
  const std::int64_t kv = shape.kv_heads * shape.head_size;
  const std::int64_t attention = 2 * d * q + 2 * d * kv;
  const std::int64_t mlp = 3 * d * shape.hidden;
  const std::int64_t head = shape.vocabulary * d;
  layers.push_back({"embedding", head, 0});
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    layers.push_back({fmt::format("model.layers.{}.self_attn", i),
                      d + attention,
                      products(attention) + attention_products(shape)});
    layers.push_back({fmt::format("model.layers.{}.mlp", i), d + mlp, products(mlp)});
  }
  layers.push_back({"head", d + (shape.tied_embeddings ? 0 : head), products(head)});
}

LayerCost linear_cost(std::string name, std::int64_t in, std::int64_t out) {
  return {std::move(name), in * out + out, products(in * out)};
}

void add_cnn(const Shape& shape, std::vector<LayerCost>& layers) {
  std::int64_t channels = 1;
  std::int64_t side = kImageSide;
  for (const std::int64_t next : kChannels) {
    const std::int64_t weights = kWindow * kWindow * channels * next;
    layers.push_back({fmt::format("conv{}", layers.size() + 1),
                      weights + next,
                      products(weights * side * side)});
    channels = next;
    side /= 2;
  }
  layers.push_back(linear_cost("fc1", channels * side * side, shape.hidden));
  layers.push_back(linear_cost("fc2", shape.hidden, shape.vocabulary));
}

void add_mlp(const Shape& shape, std::vector<LayerCost>& layers) {
  std::int64_t width = kImageSide * kImageSide;
  for (std::int64_t i = 0; i <= shape.layers; ++i) {
    const std::int64_t next = i < shape.layers ? shape.hidden : shape.vocabulary;
    layers.push_back(linear_cost(fmt::format("fc{}", i + 1), width, next));
    width = next;
  }
}

void add_layers(const Shape& shape, std::vector<LayerCost>& layers) {
  switch (shape.family) {
    case Family::gpt2:
      return add_gpt2(shape, layers);
    case Family::llama:
      return add_llama(shape, layers);
    case Family::cnn:
      return add_cnn(shape, layers);
    case Family::mlp:
      return add_mlp(shape, layers);
  }
}

}  // namespace

double Cost::training_flops() const {
  double forward = 0;
  for (const LayerCost& layer : layers) forward += layer.forward_flops;
  return 3 * forward;
}

Cost cost_of(const Shape& shape) {
  Cost cost;
  add_layers(shape, cost.layers);
  for (const LayerCost& layer : cost.layers) cost.parameters += layer.parameters;
  if (shape.is_language_model()) {
    cost.rule_flops = 6.0 * static_cast<double>(cost.parameters) +
                      3.0 * static_cast<double>(shape.layers) * attention_products(shape);
  } else {
    cost.rule_flops = cost.training_flops();
  }
  return cost;
}

}  // namespace sheaf::models
