#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sheaf/base/options.h"
#include "sheaf/sharding/state.h"

namespace sheaf::sharding {

struct LossScalerOptions {
  /// What losses are multiplied with at first.
  double initial_scale = 65536;
  /// What the scale is multiplied with after `growth_interval` good steps in a row.
  double growth_factor = 2;
  std::int64_t growth_interval = 2000;
  /// What the scale is multiplied with after a step with gradients that are not finite.
  double backoff_factor = 0.5;
};

/// Keeps the gradients of fp16 within its range: the loss is scaled up before backward, the
/// gradients are scaled down before the step, and a step whose gradients overflowed on any rank is
/// left out on all.
///
///   scaler.scale(loss).backward();
///   if (scaler.unscale()) {
///     state.clip_gradients(1.0);
///     optimizer.step();
///   }
class LossScaler {
 public:
  /// Throws UsageError for options that cannot be.
  explicit LossScaler(State state, const LossScalerOptions& options = {});

  [[nodiscard]] at::Tensor scale(const at::Tensor& loss) const;
  /// Scales the exchanged gradients down and returns true; or forgets them, backs off and returns
  /// false, on all ranks alike. Once per step; one exchange.
  [[nodiscard]] bool unscale();
  [[nodiscard]] double current_scale() const { return scale_; }
  /// For checkpoints: how many steps in a row were good.
  [[nodiscard]] std::int64_t good_steps() const { return good_steps_; }
  /// Goes on where another one stopped.
  void resume(double scale, std::int64_t good_steps);

 private:
  State state_;
  LossScalerOptions options_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

template <class Fields>
void describe(Fields& field, LossScalerOptions& options) {
  field("initial_scale",
        options.initial_scale,
        "what losses are multiplied with at first",
        positive());
  field("growth_factor",
        options.growth_factor,
        "growth of the scale after good steps",
        at_least(1.0));
  field(
      "growth_interval", options.growth_interval, "good steps before the scale grows", at_least(1));
  field("backoff_factor",
        options.backoff_factor,
        "what an overflow multiplies the scale with",
        between(0.0, 1.0));
}

}  // namespace sheaf::sharding
