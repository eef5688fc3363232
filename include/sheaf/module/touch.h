#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace sheaf::module {

/// Calls someone whenever an operator is about to run on a watched tensor's memory: on the tensor
/// itself or on any view of it, in forward and in backward, on whichever thread runs the operator.
/// The call comes before the operator's kernel. Operators that the callee runs are not reported.
///
/// LibTorch swallows exceptions there, so `touched` must not throw. Code that takes a tensor's data
/// pointer without calling an operator is not seen.
///
/// While at least one watch exists, every operator of the process costs about a microsecond more.
class TouchWatch {
 public:
  TouchWatch() = default;
  TouchWatch(const at::Tensor& tensor, std::function<void()> touched);
  TouchWatch(TouchWatch&& other) noexcept;
  TouchWatch& operator=(TouchWatch&& other) noexcept;
  ~TouchWatch();

 private:
  const void* storage_ = nullptr;
};

}  // namespace sheaf::module
