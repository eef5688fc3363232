#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace sheaf::module {

/// Calls someone whenever an operator is about to run on a watched tensor's memory: on the tensor
/// itself or on any view of it, in forward and in backward, on whichever thread runs the operator.
/// The call comes before the operator's kernel, once however often the operator takes the memory.
/// Operators that the callee runs on the same thread are not reported.
///
/// Several watches may be on the same memory. A watch may be destroyed by its own callee. It does
/// not wait for calls that other threads are in the middle of. It does not keep the memory alive.
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
  void stop() noexcept;
  const void* storage_ = nullptr;
  std::shared_ptr<const std::function<void()>> touched_;
};

/// Numbers the operator that is being reported on this thread, so that a callee can tell whether
/// two touches belong to one operator. Never 0 within a report.
[[nodiscard]] std::uint64_t touching_operator();

/// Reports what an operator that takes all of these tensors would, for kernels that are about to
/// read their memory without one. Those that are undefined do not matter.
void touch(at::TensorList tensors);

}  // namespace sheaf::module
