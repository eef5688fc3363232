#include "fused_product.h"

#include <ATen/core/grad_mode.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "awake.h"
#include "fused_product_cpu.h"
#include "fused_product_cuda.h"
#include "gelu.h"
#include "products.h"

namespace sheaf::nn {
namespace {

/// Returns a b in the type of the result.
at::Tensor plain_product(const FusedProduct& product) {
  const at::ScalarType wanted = product.result.scalar_type();
  if (product.a.scalar_type() == wanted) return at::mm(product.a, product.b);
  if (product.a.is_cuda()) return at::mm(product.a, product.b, wanted);
  return at::mm(product.a.to(wanted), product.b.to(wanted));
}

/// One operator after the other.
void by_operators(const FusedProduct& product) {
  at::Tensor result = product.result;
  const bool is_plain = !product.residual.defined() && !product.bias.defined() &&
                        !product.inner.defined() && product.a.scalar_type() == result.scalar_type();
  if (is_plain) {
    product.adds ? result.addmm_(product.a, product.b) : at::mm_out(result, product.a, product.b);
    return;
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
  product.b = product.b.view(product.b.sizes());  // see awake(), which would copy a transposed view
  product.bias = awake(product.bias);
  if (!product.result.defined()) {
    product.result = at::empty({product.a.size(0), product.b.size(1)}, product.a.options());
  }
  return product;
}

}  // namespace

at::Tensor fused_product(const FusedProduct& product) {
  const at::NoGradGuard no_grad;
  if (product.a.is_cpu() && prefers_one_dnn()) {
    const at::Tensor result = product_by_one_dnn(product);
    if (result.defined()) return result;
  }
  const FusedProduct whole = ready(product);
  const bool is_done = whole.a.is_cuda() ? product_on_cuda(whole) : product_by_blas(whole);
  if (!is_done) by_operators(whole);
  return whole.result;
}

}  // namespace sheaf::nn
