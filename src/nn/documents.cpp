#include "sheaf/nn/documents.h"

#include <ATen/ops/zeros.h>

#include <limits>

#include "kernels/gemm.h"
#include "kernels/plain.h"

namespace sheaf::nn {

at::Tensor document_mask(const at::Tensor& positions, bool causal, at::ScalarType type) {
  const at::Tensor numbers = (positions == 0).cumsum(1);
  at::Tensor seen = numbers.unsqueeze(2) == numbers.unsqueeze(1);
  if (causal) seen = seen.tril();
  return at::zeros(seen.sizes(), seen.options().dtype(type))
      .masked_fill_(seen.logical_not(), -std::numeric_limits<double>::infinity())
      .unsqueeze(1);
}

Documents documents_for(const at::Tensor& positions, const at::Tensor& x) {
  Documents documents{.positions = positions, .causal_mask = {}};
  const bool skips = is_plain_fp32(x) && has_gemm();
  if (positions.defined() && !skips) {
    documents.causal_mask = document_mask(positions, /*causal=*/true, x.scalar_type());
  }
  return documents;
}

}  // namespace sheaf::nn
