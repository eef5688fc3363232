#include "models/layers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "sheaf/nn/embedding.h"
#include "sheaf/nn/norm.h"

namespace sheaf::models {
namespace {

at::Tensor drawn(at::Tensor parameter, double deviation) {
  const at::NoGradGuard no_grad;
  return parameter.normal_(/*mean=*/0, deviation);
}

at::Tensor filled(at::Tensor parameter, double value) {
  const at::NoGradGuard no_grad;
  return parameter.fill_(value);
}

}  // namespace

Embedding::Embedding(std::int64_t rows, std::int64_t width)
    : weight(drawn(register_parameter("weight", at::empty({rows, width})), kInitialDeviation)) {}

at::Tensor Embedding::forward(const at::Tensor& tokens) const {
  return nn::embedding(weight, tokens);
}

Projection::Projection(const ProjectionOptions& options) : layout(options.layout) {
  const bool in_first = layout == nn::WeightLayout::in_out;
  const std::int64_t rows = in_first ? options.in : options.out;
  const std::int64_t columns = in_first ? options.out : options.in;
  weight = drawn(register_parameter("weight", at::empty({rows, columns})), options.deviation);
  if (options.bias) bias = filled(register_parameter("bias", at::empty({options.out})), 0);
}

at::Tensor Projection::forward(const at::Tensor& x) const {
  return nn::linear(x, weight, bias, layout);
}

at::Tensor Projection::forward_gelu(const at::Tensor& x) const {
  return nn::gelu_linear(x, weight, bias, layout);
}

at::Tensor Projection::forward_residual(const at::Tensor& x,
                                        const at::Tensor& residual,
                                        const Dropped& how) const {
  if (fuses_residual && how.site.probability == 0 && can_fuse(x, weight) &&
      residual.scalar_type() == x.scalar_type()) {
    return nn::linear_with_residual(x, tensors(), residual, layout);
  }
  return residual + nn::dropout(forward(x), how.site, how.random);
}

LayerNorm::LayerNorm(std::int64_t width, double eps)
    : weight(filled(register_parameter("weight", at::empty({width})), 1)),
      bias(filled(register_parameter("bias", at::empty({width})), 0)),
      epsilon(eps) {}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return nn::layer_norm(x, weight, bias, epsilon);
}

RmsNorm::RmsNorm(std::int64_t width, double eps)
    : weight(filled(register_parameter("weight", at::empty({width})), 1)), epsilon(eps) {}

at::Tensor RmsNorm::forward(const at::Tensor& x) const { return nn::rms_norm(x, weight, epsilon); }

bool can_fuse(const at::Tensor& x, const at::Tensor& weight) {
  const at::ScalarType type = x.scalar_type();
  if (type != weight.scalar_type()) return false;
  if (x.is_cpu()) return type == at::kFloat;
  return x.is_cuda() && (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf);
}

nn::DropoutSite site_if(bool training, const nn::DropoutSite& site) {
  return {.probability = training ? site.probability : 0, .layer = site.layer};
}

// Sizes are written out: -1 cannot be told from anything where there are no texts.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor join_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace sheaf::models
