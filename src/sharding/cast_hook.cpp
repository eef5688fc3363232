#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "sheaf/base/error.h"
#include "sheaf/sharding/reduce_hook.h"

namespace sheaf::sharding {
namespace {

/// What travels, and what arrives where only a part of the sum is wanted.
struct Cast {
  at::Tensor sent;
  at::Tensor received;
};

class CastHook final : public ReduceHook {
 public:
  explicit CastHook(at::ScalarType dtype) : dtype_(dtype) {}

  comm::Work start(const GradientExchange& exchange,
                   const comm::Group& group,
                   std::shared_ptr<void>& memory) override {
    const auto cast = std::make_shared<Cast>();
    memory = cast;
    // Scaled before the cast: fp16 has little room for large sums.
    cast->sent = exchange.local.mul(exchange.scale).to(dtype_);
    const comm::ReduceOptions how{.purpose = comm::Purpose::gradients};
    if (!exchange.sharded()) {
      cast->received = cast->sent;
      return group.all_reduce(cast->sent, how);
    }
    cast->received = at::empty({exchange.result.numel()}, cast->sent.options());
    return group.reduce_scatter(cast->received, cast->sent, how);
  }

  void finish(const GradientExchange& exchange, std::shared_ptr<void>& memory) override {
    exchange.result.copy_(static_cast<const Cast*>(memory.get())->received);
    memory.reset();
  }

 private:
  at::ScalarType dtype_;
};

}  // namespace

std::shared_ptr<ReduceHook> cast_hook(at::ScalarType dtype) {
  if (dtype != at::kBFloat16 && dtype != at::kHalf) {
    throw UsageError(
        fmt::format("gradients can be sent as bf16 or fp16, got {}", c10::toString(dtype)));
  }
  return std::make_shared<CastHook>(dtype);
}

}  // namespace sheaf::sharding
