#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string_view>

#include "sheaf/comm/group.h"

namespace sheaf::sharding {

/// The exchange of one flat gradient.
struct GradientExchange {
  std::string_view unit;
  /// This rank's whole gradient, flat; may be written to.
  at::Tensor local;
  /// Where the sum goes: all of it, and then it is `local` itself; or this rank's equal part of it.
  at::Tensor result;
  /// What local gradients are to be multiplied with before they are summed.
  double scale = 1.0;

  [[nodiscard]] bool sharded() const { return !result.is_same(local); }
};

/// Someone who exchanges gradients in place of the engine, such as a compressor. Ranks call it in
/// the same order, once per unit and pass.
class ReduceHook {
 public:
  virtual ~ReduceHook() = default;

  /// Starts the exchange over `group` and returns its handle. Anything that it needs until the end
  /// it puts behind `memory`.
  virtual comm::Work start(const GradientExchange& exchange,
                           const comm::Group& group,
                           std::shared_ptr<void>& memory) = 0;
  /// Completes `exchange.result` when the work has been waited for.
  virtual void finish(const GradientExchange& exchange, std::shared_ptr<void>& memory) = 0;
};

/// Sends gradients as bf16 or fp16 and adds the sum up as it comes, which halves the traffic.
[[nodiscard]] std::shared_ptr<ReduceHook> cast_hook(at::ScalarType dtype);

}  // namespace sheaf::sharding
