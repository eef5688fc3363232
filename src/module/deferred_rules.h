#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>

#include "module/deferred_record.h"
#include "module/deferred_storage.h"

namespace sheaf::module {

/// Returns the fill that an operator is, given its arguments: uniform_(w, -1, 1). None if it is not
/// one that can be written down, or has a generator of its own.
[[nodiscard]] std::optional<Fill> as_fill(const c10::OperatorHandle& op,
                                          const torch::jit::Stack& arguments);

/// Returns what an operator for which as_fill() gives something does to what was there.
[[nodiscard]] Effect effect_of(const Fill& fill);

/// Returns the fill that gives a copy of the first argument the operator's result: for w * 2 it is
/// mul_(2). None if there is none that can be written down.
[[nodiscard]] std::optional<Fill> as_fill_of_copy(const c10::OperatorHandle& op,
                                                  const torch::jit::Stack& arguments);

/// Tells whether an operator only makes a new tensor from a shape: empty, zeros_like, randn.
[[nodiscard]] bool is_factory(const c10::OperatorHandle& op);

/// Returns what a factory fills its tensor with; none for those like empty.
[[nodiscard]] std::optional<Fill> fill_of_factory(const c10::OperatorHandle& op,
                                                  const torch::jit::Stack& arguments);

/// Tells whether an operator touches no memory itself and consists of calls of others.
[[nodiscard]] bool is_composite(const c10::OperatorHandle& op);

/// Tells whether an operator, not a composite one, looks at values: those that return views and
/// those that only need a shape do not.
[[nodiscard]] bool reads(const c10::OperatorHandle& op);

/// Returns the argument of that name; none if the operator has no such argument.
[[nodiscard]] const c10::IValue* argument(const c10::OperatorHandle& op,
                                          const torch::jit::Stack& arguments,
                                          const std::string& name);

}  // namespace sheaf::module
