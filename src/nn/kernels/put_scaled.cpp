#include "put_scaled.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>

#include "parallel.h"
#include "put_scaled_cuda.h"
#include "widened.h"

namespace sheaf::nn {
namespace {

template <class From, class To>
void put_on_cpu(const at::Tensor& values,
                const at::Tensor& factor,
                const at::Tensor& target,
                bool adds) {
  constexpr std::int64_t kElementsPerThread = 1 << 14;
  using Wide = at::opmath_type<From>;
  const auto by = factor.item<Wide>();
  const From* const from = values.const_data_ptr<From>();
  To* const to = target.mutable_data_ptr<To>();
  in_parallel({values.numel(), kElementsPerThread}, [&](Part part) {
    if (adds) {
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        to[i] = static_cast<To>(static_cast<Wide>(to[i]) + static_cast<Wide>(from[i]) * by);
      }
    } else {
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        to[i] = static_cast<To>(static_cast<Wide>(from[i]) * by);
      }
    }
  });
}

/// For what there are no kernels for.
void put_by_operators(const at::Tensor& values,
                      const at::Tensor& factor,
                      const at::Tensor& target,
                      bool adds) {
  const at::Tensor wide = widened(values);
  const at::Tensor product = wide * factor.to(wide.scalar_type());
  adds ? target.add_(product) : target.copy_(product);
}

}  // namespace

void put_scaled(const at::Tensor& values,
                const at::Tensor& factor,
                const at::Tensor& target,
                bool adds) {
  if (values.is_cuda() && put_scaled_on_cuda(values, factor, target, adds)) return;
  if (values.is_cuda() || !values.is_contiguous() || !target.is_contiguous()) {
    return put_by_operators(values, factor, target, adds);
  }
  using at::kBFloat16, at::kHalf;
  AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, values.scalar_type(), "put_scaled", [&] {
    using From = scalar_t;
    AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, target.scalar_type(), "put_scaled", [&] {
      put_on_cpu<From, scalar_t>(values, factor, target, adds);
    });
  });
}

}  // namespace sheaf::nn
