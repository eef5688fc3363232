// Catches operators while modules are constructed, and later those that reach a deferred tensor.
// The registration stands next to what switches it on, so that the linker keeps both.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/stack.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "module/deferred_rules.h"
#include "module/deferred_storage.h"
#include "sheaf/module/deferred.h"

namespace sheaf {
namespace module {
namespace {

constexpr auto kKey = c10::DispatchKey::DeferredInit;

using torch::jit::Stack;

Stack arguments_of(const c10::OperatorHandle& op, const Stack& stack) {
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  return {stack.end() - count, stack.end()};
}

void finish(const c10::OperatorHandle& op, Stack* stack, at::Tensor result) {
  torch::jit::drop(*stack, op.schema().arguments().size());
  torch::jit::push(*stack, std::move(result));
}

bool autograd_sees(const at::Tensor& tensor) {
  const auto excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  return at::GradMode::is_enabled() && tensor.requires_grad() &&
         !excluded.has(c10::DispatchKey::AutogradFunctionality);
}

bool can_be_filled_later(const at::Tensor& self) {
  return self.defined() && has_key(self) && self.numel() > 0 && !autograd_sees(self) &&
         at::has_internal_overlap(self) != at::MemOverlap::Yes;
}

// Does what the dispatcher would do without us.
void run_now(const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard no_key{c10::DispatchKeySet(kKey)};
  op.callBoxed(stack);
}

bool makes_plain_cpu_tensor(const c10::OperatorHandle& op, const Stack& arguments) {
  const auto* self = argument(op, arguments, "self");
  if (self != nullptr && !self->toTensor().is_cpu()) return false;
  const auto device = argument(op, arguments, "device")->toOptional<at::Device>();
  const auto layout = argument(op, arguments, "layout")->toOptional<at::Layout>();
  const auto pinned = argument(op, arguments, "pin_memory")->toOptional<bool>();
  return device.value_or(at::kCPU).is_cpu() && layout.value_or(at::kStrided) == at::kStrided &&
         !pinned.value_or(false);
}

// Lets the operator work out shape and type where no memory is behind a tensor.
at::Tensor shape_of_result(const c10::OperatorHandle& op, Stack arguments) {
  const auto device = op.schema().argumentIndexWithName("device");
  arguments.at(device.value()) = c10::Device(at::kMeta);
  run_now(op, &arguments);
  return arguments.back().toTensor();
}

bool defer_factory(const c10::OperatorHandle& op, const Stack& arguments, Stack* stack) {
  if (!is_factory(op) || !makes_plain_cpu_tensor(op, arguments)) return false;
  auto result = zeros_with_key(shape_of_result(op, arguments));
  const auto fill = fill_of_factory(op, arguments);
  if (fill && (result.numel() == 0 || !write_down(result, *fill, effect_of(*fill)))) {
    const c10::impl::ExcludeDispatchKeyGuard no_key{c10::DispatchKeySet(kKey)};
    fill->run(result);
  }
  finish(op, stack, std::move(result));
  return true;
}

bool defer_fill(const c10::OperatorHandle& op, const Stack& arguments, Stack* stack) {
  const auto fill = as_fill(op, arguments);
  if (!fill) return false;
  auto self = arguments.front().toTensor();
  if (!can_be_filled_later(self) || !write_down(self, *fill, effect_of(*fill))) return false;
  self.unsafeGetTensorImpl()->bump_version();
  finish(op, stack, std::move(self));
  return true;
}

// A new tensor that starts as a copy of a deferred one: randn(...) * 0.02.
bool defer_changed_copy(const c10::OperatorHandle& op, const Stack& arguments, Stack* stack) {
  const auto fill = as_fill_of_copy(op, arguments);
  if (!fill) return false;
  const auto& self = arguments.front().toTensor();
  auto record = autograd_sees(self) ? std::nullopt : copy_record(self);
  if (!record) return false;
  record->append({*fill, self});
  finish(op, stack, deferred_tensor(self, std::move(*record)));
  return true;
}

// w.copy_(randn(...) * 0.02), where all of `w` is overwritten.
bool defer_overwrite(const c10::OperatorHandle& op, const Stack& arguments, Stack* stack) {
  if (op.operator_name() != c10::OperatorName("aten::copy_", "")) return false;
  auto self = arguments[0].toTensor();
  const auto& source = arguments[1].toTensor();
  if (!can_be_filled_later(self) || !covers_storage(self) || autograd_sees(source)) return false;
  if (self.sizes() != source.sizes() || self.strides() != source.strides()) return false;
  auto record = copy_record(source);
  if (!record) return false;
  record->convert(self.scalar_type());
  replace_record(self, std::move(*record));
  self.unsafeGetTensorImpl()->bump_version();
  finish(op, stack, std::move(self));
  return true;
}

bool defer(const c10::OperatorHandle& op, Stack* stack) {
  if (!ConstructionScope::of_this_thread().active() || c10::InferenceMode::is_enabled()) {
    return false;
  }
  const auto arguments = arguments_of(op, *stack);
  return defer_factory(op, arguments, stack) || defer_fill(op, arguments, stack) ||
         defer_changed_copy(op, arguments, stack) || defer_overwrite(op, arguments, stack);
}

void touch(const at::Tensor& tensor) {
  if (!tensor.defined() || !has_key(tensor)) return;
  give_memory(tensor, std::nullopt);
  if (!ConstructionScope::of_this_thread().active()) drop_key(tensor);
}

void touch_arguments(const c10::OperatorHandle& op, const Stack& stack) {
  for (const auto& value : arguments_of(op, stack)) {
    if (value.isTensor()) touch(value.toTensor());
    if (!value.isList()) continue;
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor()) touch(element.toTensor());
    }
  }
}

void on_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (defer(op, stack)) return;
  if (is_composite(op)) {
    // What it calls comes here again, so that only what really reads gives memory.
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
    return;
  }
  if (reads(op)) touch_arguments(op, *stack);
  run_now(op, stack);
}

TORCH_LIBRARY_IMPL(_, DeferredInit, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_operator>());
}

}  // namespace
}  // namespace module

DeferredConstruction::DeferredConstruction() {
  if (module::ConstructionScope::of_this_thread().enter()) {
    c10::impl::tls_set_dispatch_key_included(module::kKey, true);
  }
}

DeferredConstruction::~DeferredConstruction() {
  if (module::ConstructionScope::of_this_thread().leave()) {
    c10::impl::tls_set_dispatch_key_included(module::kKey, false);
  }
}

}  // namespace sheaf
