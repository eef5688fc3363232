#include "swiglu_cuda.h"

#include "on_cuda.h"
#include "swiglu_kernel.h"

namespace sheaf::nn {
namespace {

template <class... Tensors>
bool have_kernel(const at::Tensor& first, const Tensors&... others) {
  const auto fits = [&](const at::Tensor& x) {
    return !x.defined() || (x.scalar_type() == first.scalar_type() && x.stride(1) == 1);
  };
  return element_type(first.scalar_type()) && first.numel() > 0 && fits(first) &&
         (fits(others) && ...);
}

template <class... Tensors>
bool all_fit_chunks(std::int64_t width, const Tensors&... all) {
  return ((!all.defined() || fit_chunks(width, all.stride(0), all.const_data_ptr())) && ...);
}

GateMatrix<const void> read_from(const at::Tensor& x) { return {x.const_data_ptr(), x.stride(0)}; }

GateMatrix<void> write_to(const at::Tensor& x) {
  if (!x.defined()) return {};
  return {x.mutable_data_ptr(), x.stride(0)};
}

}  // namespace

bool swiglu_on_cuda(const at::Tensor& gate, const at::Tensor& up, at::Tensor& result) {
  if (!have_kernel(gate, up, result)) return false;
  const Launch launch(gate);
  const std::int64_t hidden = gate.size(1);
  launch_swiglu({.type = element_type(gate.scalar_type()).value(),
                 .num_rows = gate.size(0),
                 .hidden = hidden,
                 .in_chunks = all_fit_chunks(hidden, gate, up, result),
                 .gate = read_from(gate),
                 .up = read_from(up),
                 .result = write_to(result)},
                launch.stream());
  return true;
}

bool swiglu_gradients_on_cuda(const at::Tensor& gate,
                              const at::Tensor& up,
                              const at::Tensor& of_result,
                              SwigluGradients& result) {
  if (!have_kernel(gate, up, of_result)) return false;
  const Launch launch(gate);
  const std::int64_t hidden = gate.size(1);
  launch_swiglu({.type = element_type(gate.scalar_type()).value(),
                 .num_rows = gate.size(0),
                 .hidden = hidden,
                 .in_chunks = all_fit_chunks(
                     hidden, gate, up, of_result, result.gate, result.up, result.again),
                 .gate = read_from(gate),
                 .up = read_from(up),
                 .result = write_to(result.again),
                 .of_result = read_from(of_result),
                 .of_gate = write_to(result.gate),
                 .of_up = write_to(result.up)},
                launch.stream());
  return true;
}

}  // namespace sheaf::nn
