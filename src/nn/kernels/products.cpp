#include "products.h"

#include <ATen/core/grad_mode.h>

#include <ATen/ops/linear.h>

#include "fused_product.h"
#include "plain.h"
#include "tiles.h"

namespace sheaf::nn {
namespace {

/// Fused products have no derivative, so they must not be where one is recorded.
bool is_recorded(const at::Tensor& x, const at::Tensor& w) {
  return at::GradMode::is_enabled() && (x.requires_grad() || w.requires_grad());
}

}  // namespace

at::Tensor times_transposed(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const bool in_tiles = is_plain_fp32(x) && is_plain_fp32(w) && !is_recorded(x, w) &&
                        prefers_tiles(x.size(0), w.size(0));
  return in_tiles ? fused_product({.a = x, .b = w.t(), .bias = bias}) : at::linear(x, w, bias);
}

}  // namespace sheaf::nn
