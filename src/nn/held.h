#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

namespace sheaf::nn {

/// Lets the context of an autograd function keep a value of any type.
template <class Value>
struct Held final : torch::CustomClassHolder {
  explicit Held(Value held) : value(std::move(held)) {}
  Value value;
};

template <class Value>
void hold(torch::autograd::AutogradContext* context, Value value) {
  context->saved_data["held"] =
      c10::IValue::make_capsule(c10::make_intrusive<Held<Value>>(std::move(value)));
}

template <class Value>
[[nodiscard]] Value held(torch::autograd::AutogradContext* context) {
  const auto capsule = context->saved_data["held"].toCapsule();
  return static_cast<const Held<Value>&>(*capsule).value;
}

}  // namespace sheaf::nn
