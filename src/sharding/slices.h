#pragma once

#include <functional>
#include <vector>

#include "engine.h"

namespace sheaf::sharding {

/// Returns the parameters that no unit has: frozen ones where parameters are whole.
[[nodiscard]] std::vector<const ParameterInfo*> outside_units(Engine& engine);

/// See State::slices().
[[nodiscard]] std::vector<Slice> unit_slices(Engine& engine);
/// See State::kept_slices().
[[nodiscard]] std::vector<Slice> kept_slices(Engine& engine);
/// See State::owned_slices().
[[nodiscard]] std::vector<Slice> owned_slices(Engine& engine);
/// See State::load().
void load_slices(Engine& engine, const std::function<void(const Slice&)>& fill);

}  // namespace sheaf::sharding
