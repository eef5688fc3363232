#pragma once

#include "engine.h"
#include "sheaf/sharding/state.h"

namespace sheaf::sharding {

/// See State::gather_full() and State::load_full().
[[nodiscard]] NamedTensors gather_full(Engine& engine, bool everywhere);
void load_full(Engine& engine, const NamedTensors& values);

}  // namespace sheaf::sharding
