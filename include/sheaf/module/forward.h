#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "sheaf/module/claim.h"
#include "sheaf/module/claimed_call.h"

namespace sheaf {
namespace module {

/// Returns the module itself: what a holder or a pointer points to.
template <class Module>
auto& module_behind(Module& module) {
  if constexpr (std::is_convertible_v<Module&, const torch::nn::Module&>) {
    return module;
  } else {
    return *module;
  }
}

/// Runs a module within its claims.
template <class Module, class... Args>
auto forward_claimed(const Claims& claims, Module& module, Args&&... args) ->
    typename ClaimedCall<Module, Args...>::Result {
  const auto call =
      std::make_shared<ClaimedCall<Module, Args...>>(module, std::forward<Args>(args)...);
  const Tensors inputs = call->take_inputs();
  const Tensors outputs =
      run_claims(claims, inputs, [call](const Tensors& given) { return call->forward(given); });
  return call->result(outputs);
}

}  // namespace module

/// Runs `module.forward(args...)` and lets those who have claimed the module take part; a plain
/// call when nobody has. Models cross from block to block with it:
///
///   x = sheaf::forward(*block, x, mask);
///
/// Tensors may be among the arguments and in the result directly, as optionals, and in vectors,
/// arrays, pairs and tuples; anything else is passed on as it is. `module` may also be a holder or
/// a pointer. A result with tensors in it is returned by value, even where forward returns a
/// reference.
template <class Module, class... Args>
decltype(auto) forward(Module& module, Args&&... args) {
  auto& target = sheaf::module::module_behind(module);
  using Result = sheaf::module::Returned<decltype(target.forward(std::forward<Args>(args)...))>;
  if (const auto claims = sheaf::module::claims_on(target)) {
    return static_cast<Result>(
        sheaf::module::forward_claimed(*claims, target, std::forward<Args>(args)...));
  }
  return static_cast<Result>(target.forward(std::forward<Args>(args)...));
}

}  // namespace sheaf
