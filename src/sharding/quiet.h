#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

namespace sheaf::sharding {

/// While it lives, operators on this thread neither record gradients nor count as touches: the
/// engine's own work on the model's memory.
class Quiet {
  at::NoGradGuard no_grad_;
  at::RecordFunctionGuard no_touch_{/*is_enabled=*/false};
};

}  // namespace sheaf::sharding
