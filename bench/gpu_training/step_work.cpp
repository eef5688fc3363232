#include "step_work.h"

#include "sheaf/models/cost.h"

namespace sheaf::bench {
namespace {

// Vocabularies are padded to a multiple of this: at 50257 columns the head's products are five to
// seven times slower than at 50304.
constexpr std::int64_t kVocabularyMultiple = 128;

// What is read and written per element, forward and backward, by kernels that fuse all they can.
// Residual adds, biases, their gradients and rotary positions cost nothing: they belong into a
// kernel that has the data anyway.
// A norm reads its input and writes its output; backward it reads the gradient and the input again
// and writes a gradient.
constexpr double kNorm = 2 + 3;
// GELU reads and writes; backward it reads the gradient and its input, and writes a gradient.
constexpr double kGelu = 2 + 3;
// SwiGLU reads both halves and writes one; backward it reads a gradient and both halves, and writes
// two gradients.
constexpr double kSwiGlu = 3 + 5;
// Logits are read for the sum of their exponentials and for their gradient, which is written and
// read by the products.
constexpr double kLoss = 4;

struct Elements {
  double activation = 0;
  /// Of AdamW, for each parameter: the parameter, its gradient and two moments are read, all but
  /// the gradient are written.
  double optimizer = 0;
};

Elements bytes_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp32:
    case Arithmetic::tf32:
      return {.activation = 4, .optimizer = 7 * 4};
    case Arithmetic::bf16_master:
      return {.activation = 2, .optimizer = 7 * 4};
    case Arithmetic::bf16:
      return {.activation = 2, .optimizer = 7 * 2};
  }
  return {};
}

std::int64_t padded(std::int64_t vocabulary) {
  return (vocabulary + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
}

std::vector<Linear> linears_of(const models::Shape& shape) {
  const bool gated = shape.family == models::Family::llama;
  const std::int64_t query = shape.heads * shape.head_size;
  const std::int64_t keys = shape.kv_heads * shape.head_size;
  return {{"qkv", shape.width, query + 2 * keys, shape.layers},
          {"attention out", query, shape.width, shape.layers},
          {gated ? "gate and up" : "up",
           shape.width,
           gated ? 2 * shape.hidden : shape.hidden,
           shape.layers},
          {"down", shape.hidden, shape.width, shape.layers},
          {"head", shape.width, padded(shape.vocabulary), 1}};
}

std::map<KernelClass, double> bytes_of(const models::Shape& shape,
                                       std::int64_t tokens,
                                       const Elements& size) {
  const auto count = [&](double per_token) { return static_cast<double>(tokens) * per_token; };
  const double activation = shape.family == models::Family::llama ? kSwiGlu : kGelu;
  const auto width = static_cast<double>(shape.width);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto layers = static_cast<double>(shape.layers);
  return {{KernelClass::norm, count((2 * layers + 1) * width) * kNorm * size.activation},
          {KernelClass::elementwise, count(layers * hidden) * activation * size.activation},
          {KernelClass::loss,
           count(static_cast<double>(padded(shape.vocabulary))) * kLoss * size.activation},
          {KernelClass::optimizer,
           static_cast<double>(models::cost_of(shape).parameters) * size.optimizer}};
}

}  // namespace

double StepWork::product_flops() const {
  double flops = 0;
  for (const Linear& linear : linears) {
    flops += 6.0 * static_cast<double>(tokens) *
             static_cast<double>(linear.inputs * linear.outputs * linear.calls);
  }
  return flops;
}

StepWork work_of(const Row& row) {
  const models::Shape shape = shape_of(row);
  const std::int64_t tokens = row.batch * row.length;
  return {.tokens = tokens,
          .rule_flops = models::cost_of(shape).rule_flops * static_cast<double>(tokens),
          .linears = linears_of(shape),
          .attention = {.batch = row.batch,
                        .heads = shape.heads,
                        .kv_heads = shape.kv_heads,
                        .length = row.length,
                        .head_size = shape.head_size,
                        .calls = shape.layers},
          .bytes = bytes_of(shape, tokens, bytes_of(row.arithmetic))};
}

}  // namespace sheaf::bench
