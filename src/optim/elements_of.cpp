#include "elements_of.h"

namespace sheaf::optim {

Type type_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return Type::none;
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return Type::fp32;
    case at::kDouble:
      return Type::fp64;
    case at::kHalf:
      return Type::fp16;
    case at::kBFloat16:
      return Type::bf16;
    default:
      return Type::none;
  }
}

Elements elements_of(const Run& run) {
  const auto state = [&](std::size_t i) {
    return i < run.states.size() ? run.states[i].mutable_data_ptr() : nullptr;
  };
  return {.master = run.master.mutable_data_ptr(),
          .gradient = run.gradient.const_data_ptr(),
          .state1 = state(0),
          .state2 = state(1),
          .copy = run.copy.defined() ? run.copy.mutable_data_ptr() : nullptr,
          .size = run.master.numel(),
          .type = type_of(run.master),
          .copy_type = type_of(run.copy),
          .gradient_type = type_of(run.gradient),
          .state_type = run.states.empty() ? Type::none : type_of(run.states.front()),
          .gradient_scale =
              run.gradient_scale.defined() ? run.gradient_scale.const_data_ptr<double>() : nullptr};
}

const double* recorded_numbers_of(const Run& run) {
  return run.recorded_numbers.defined() ? run.recorded_numbers.const_data_ptr<double>() : nullptr;
}

}  // namespace sheaf::optim
