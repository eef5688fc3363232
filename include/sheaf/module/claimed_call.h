#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sheaf/module/claim.h"
#include "sheaf/module/tensors_in.h"

namespace sheaf::module {

/// What sheaf::forward returns for a forward that returns `Result`: the same, but never a reference
/// to something with tensors in it, which claims could not replace.
template <class Result>
using Returned = std::conditional_t<kHoldsTensors<Result>, std::decay_t<Result>, Result>;

/// One run of a claimed module. It owns copies of the arguments with tensors, so that claims may
/// replace those, and of rvalues; other arguments are referred to.
template <class Module, class... Args>
class ClaimedCall {
 public:
  using Result = Returned<decltype(std::declval<Module&>().forward(std::declval<Args>()...))>;

  explicit ClaimedCall(Module& module, Args&&... args)
      : module_(module), args_(std::forward<Args>(args)...) {}

  [[nodiscard]] Tensors take_inputs() { return take_tensors(args_); }

  /// Runs the module with these tensors in its arguments and returns those of its result.
  Tensors forward(const Tensors& inputs) {
    put_tensors(args_, inputs);
    std::apply([&](auto&... kept) { call(pass<Args>(kept)...); }, args_);
    // What is kept for another call later must not keep these alive.
    static_cast<void>(take_inputs());
    if constexpr (kHoldsTensors<Result>) return take_tensors(*result_);
    return {};
  }

  /// Returns the result of the last run with these tensors in it.
  Result result(const Tensors& outputs) {
    if constexpr (!std::is_void_v<Result>) {
      TORCH_INTERNAL_ASSERT(result_.has_value(), "a claim did not call forward");
      if constexpr (kHoldsTensors<Result>) put_tensors(*result_, outputs);
      return take_result();
    }
  }

 private:
  static constexpr bool kReference = std::is_reference_v<Result>;
  // References are kept as pointers; the type for void is never used.
  using Stored = std::conditional_t<kReference,
                                    std::add_pointer_t<Result>,
                                    std::conditional_t<std::is_void_v<Result>, bool, Result>>;

  template <class Arg>
  using Kept = std::
      conditional_t<kHoldsTensors<Arg> || !std::is_lvalue_reference_v<Arg>, std::decay_t<Arg>, Arg>;

  // Gives an argument to forward with the value category it came with. An rvalue is copied where
  // that is possible, since forward may be called again.
  template <class Arg>
  static decltype(auto) pass(std::remove_reference_t<Kept<Arg>>& kept) {
    using Owned = std::decay_t<Arg>;
    if constexpr (std::is_lvalue_reference_v<Arg>) {
      return static_cast<Arg>(kept);
    } else if constexpr (std::is_copy_constructible_v<Owned>) {
      return Owned(kept);
    } else {
      return static_cast<Owned&&>(kept);
    }
  }

  template <class... Passed>
  void call(Passed&&... passed) {
    if constexpr (std::is_void_v<Result>) {
      module_.forward(std::forward<Passed>(passed)...);
    } else if constexpr (kReference) {
      auto&& referred = module_.forward(std::forward<Passed>(passed)...);
      result_ = std::addressof(referred);
    } else {
      result_.emplace(module_.forward(std::forward<Passed>(passed)...));
    }
  }

  Result take_result() {
    if constexpr (kReference) {
      return static_cast<Result>(**result_);
    } else {
      return std::move(*result_);
    }
  }

  Module& module_;
  std::tuple<Kept<Args>...> args_;
  std::optional<Stored> result_;
};

}  // namespace sheaf::module
