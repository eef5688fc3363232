#pragma once

#include <ATen/core/Tensor.h>

#include <array>

#include "sheaf/module/touch.h"

namespace sheaf::nn {

/// Returns parameters without gaps that are all there for a kernel. Those that are spread over
/// ranks come when an operator takes them, or with touch(); taken one after the other the first may
/// be gone when the last has come.
template <class... Tensors>
[[nodiscard]] std::array<at::Tensor, sizeof...(Tensors)> awake(const Tensors&... parameters) {
  std::array<at::Tensor, sizeof...(Tensors)> all{
      (parameters.defined() ? parameters.contiguous() : parameters)...};
  module::touch(all);
  return all;
}

}  // namespace sheaf::nn
