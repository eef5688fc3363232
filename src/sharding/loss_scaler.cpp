#include "sheaf/sharding/loss_scaler.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::sharding {

LossScaler::LossScaler(State state, const LossScalerOptions& options)
    : state_(std::move(state)), options_(options), scale_(options.initial_scale) {
  if (!(options.initial_scale > 0) || !(options.growth_factor >= 1) ||
      options.growth_interval < 1 || !(options.backoff_factor > 0 && options.backoff_factor < 1)) {
    throw UsageError(
        fmt::format("the loss scaler needs a positive scale, a growth of at least 1 every 1 or "
                    "more steps and a "
                    "backoff between 0 and 1, got {}, {}, {} and {}",
                    options.initial_scale,
                    options.growth_factor,
                    options.growth_interval,
                    options.backoff_factor));
  }
}

at::Tensor LossScaler::scale(const at::Tensor& loss) const { return loss * scale_; }

bool LossScaler::unscale() {
  if (!state_.multiply_gradients(1 / scale_)) {
    state_.zero_gradients();
    scale_ *= options_.backoff_factor;
    good_steps_ = 0;
    return false;
  }
  if (++good_steps_ == options_.growth_interval) {
    scale_ *= options_.growth_factor;
    good_steps_ = 0;
  }
  return true;
}

void LossScaler::resume(double scale, std::int64_t good_steps) {
  scale_ = scale;
  good_steps_ = good_steps;
}

}  // namespace sheaf::sharding
