#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine.h"

namespace sheaf::sharding {

/// Returns every exchanged gradient that this rank keeps.
[[nodiscard]] std::vector<at::Tensor> gradients_of(Engine& engine);

/// Returns the norm over all parameters of all ranks: fp64, a scalar on the engine's device.
[[nodiscard]] at::Tensor global_norm(Engine& engine);

/// Multiplies every gradient with `factor`, a scalar tensor.
void scale_gradients(Engine& engine, const at::Tensor& factor);

/// Tells whether all gradients of all ranks are finite; one exchange.
[[nodiscard]] bool all_finite(Engine& engine);

[[nodiscard]] std::vector<NonFinite> find_non_finite(Engine& engine);

}  // namespace sheaf::sharding
