#include "fused_product.h"

#include <ATen/core/grad_mode.h>

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "fused_product_cpu.h"
#include "fused_product_cuda.h"
#include "gelu.h"
#include "sheaf/module/touch.h"

namespace sheaf::nn {
namespace {

/// Returns a b in the type of the result.
at::Tensor plain_product(const FusedProduct& product) {
  const at::ScalarType wanted = product.result.scalar_type();
  if (product.a.scalar_type() == wanted) return at::mm(product.a, product.b);
  if (product.a.is_cuda()) return at::mm(product.a, product.b, wanted);
  return at::mm(product.a.to(wanted), product.b.to(wanted));
}

/// Says whether all matrices and the bias have one type.
bool has_one_type(const FusedProduct& product) {
  const at::ScalarType type = product.a.scalar_type();
  const auto fits = [type](const at::Tensor& x) { return !x.defined() || x.scalar_type() == type; };
  return fits(product.result) && fits(product.bias) && fits(product.inner);
}

/// Puts a product of one type where it belongs, the bias with it.
void into_place(const FusedProduct& product) {
  at::Tensor target = product.inner.defined() ? product.inner : product.result;
  if (product.bias.defined()) {
    at::addmm_out(target, product.bias, product.a, product.b);
  } else {
    at::mm_out(target, product.a, product.b);
  }
  if (product.residual.defined()) target.add_(product.residual);
  if (product.inner.defined()) product.result.copy_(gelu_of(target));
}

/// One operator after the other.
void by_operators(const FusedProduct& product) {
  at::Tensor result = product.result;
  const bool is_plain =
      !product.residual.defined() && !product.bias.defined() && !product.inner.defined();
  if (has_one_type(product)) {
    if (!product.adds) return into_place(product);
    if (is_plain) return static_cast<void>(result.addmm_(product.a, product.b));
  }
  at::Tensor value = plain_product(product);
  if (product.bias.defined()) value.add_(product.bias);
  if (product.residual.defined()) value.add_(product.residual);
  if (product.inner.defined()) {
    product.inner.copy_(value);
    value = gelu_of(product.inner);
  }
  product.adds ? result.add_(value) : result.copy_(value);
}

/// Returns the product with parameters that are there, and with room for the result.
FusedProduct ready(FusedProduct product) {
  if (product.bias.defined()) product.bias = product.bias.contiguous();
  module::touch({product.b, product.bias});  // see awake(), which would copy a transposed view
  if (!product.result.defined()) {
    product.result = at::empty({product.a.size(0), product.b.size(1)}, product.a.options());
  }
  return product;
}

}  // namespace

at::Tensor fused_product(const FusedProduct& product) {
  const at::NoGradGuard no_grad;
  const FusedProduct whole = ready(product);
  const bool is_done = whole.a.is_cuda() ? product_on_cuda(whole) : product_on_cpu(whole);
  if (!is_done) by_operators(whole);
  return whole.result;
}

}  // namespace sheaf::nn
