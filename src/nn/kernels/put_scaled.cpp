#include "put_scaled.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>

#include "parallel.h"
#include "put_scaled_cuda.h"
#include "widened.h"

namespace sheaf::nn {
namespace {

template <class From, class To>
struct Scaling {
  using Wide = at::opmath_type<From>;

  const From* from;
  To* to;
  Wide factor;

  void put(Part part) const {
    for (std::int64_t i = part.begin; i < part.end; ++i) to[i] = static_cast<To>(product(i));
  }
  void add(Part part) const {
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      to[i] = static_cast<To>(static_cast<Wide>(to[i]) + product(i));
    }
  }

 private:
  [[nodiscard]] Wide product(std::int64_t i) const { return static_cast<Wide>(from[i]) * factor; }
};

template <class From, class To>
void run(const Scaling<From, To>& all, std::int64_t size, bool adds) {
  constexpr std::int64_t kElementsPerThread = 1 << 14;
  in_parallel({size, kElementsPerThread}, [&](Part part) { adds ? all.add(part) : all.put(part); });
}

/// Calls `call` with a value of the type that elements have, whose type is all that matters.
template <class Call>
void with_type(at::ScalarType type, const Call& call) {
  switch (type) {
    case at::kFloat:
      return call(float{});
    case at::kDouble:
      return call(double{});
    case at::kBFloat16:
      return call(at::BFloat16{});
    case at::kHalf:
      return call(at::Half{});
    default:
      TORCH_INTERNAL_ASSERT(false, "put_scaled takes no ", type);
  }
}

template <class From>
void put_on_cpu(const at::Tensor& values,
                const at::Tensor& factor,
                const at::Tensor& target,
                bool adds) {
  const From* const from = values.const_data_ptr<From>();
  const auto by = factor.item<at::opmath_type<From>>();
  with_type(target.scalar_type(), [&]<class To>(To) {
    run<From, To>({from, target.mutable_data_ptr<To>(), by}, values.numel(), adds);
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
  with_type(values.scalar_type(),
            [&]<class From>(From) { put_on_cpu<From>(values, factor, target, adds); });
}

}  // namespace sheaf::nn
