#pragma once

#include <utility>

#include "sheaf/module/claim.h"

namespace sheaf {

/// Runs `module.forward(args...)` and lets those who have claimed the module take part; a plain
/// call when nobody has. Models cross from block to block with it:
///
///   x = sheaf::forward(*block, x, mask);
///
/// Tensors may be among the arguments and in the result directly, as optionals, and in vectors,
/// arrays, pairs and tuples; anything else is passed on as it is.
template <class Module, class... Args>
decltype(auto) forward(Module& module, Args&&... args);

}  // namespace sheaf
