#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

#include <memory>
#include <string>
#include <vector>

#include "sheaf/optim/optimizer.h"
#include "sheaf/optim/plain_slots.h"

namespace sheaf::testing {

constexpr int kParitySteps = 12;

/// fp32: a few roundings of 6e-8 per step, which LibTorch fuses differently, over 12 steps of
/// values around 1. fp64: the same with roundings of 1e-16.
inline double parity_tolerance(at::ScalarType type) { return type == at::kDouble ? 1e-14 : 2e-6; }

/// Odd sizes, so that vectors have tails.
inline std::vector<at::Tensor> parity_parameters(at::ScalarType type) {
  at::manual_seed(7);
  std::vector<at::Tensor> parameters;
  for (const auto& shape : {std::vector<std::int64_t>{33, 17}, {101}, {3, 5, 7}}) {
    parameters.push_back(at::randn(shape, type).requires_grad_());
  }
  return parameters;
}

inline optim::Slots slots_of(const std::vector<at::Tensor>& parameters) {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    named.emplace_back("p" + std::to_string(i), parameters[i]);
  }
  return optim::plain_slots(named);
}

inline void set_gradients(const std::vector<at::Tensor>& parameters, int step) {
  at::manual_seed(100 + static_cast<std::uint64_t>(step));
  for (const at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = at::randn(parameter.sizes(), parameter.scalar_type());
  }
}

/// Steps both optimizers side by side and compares the parameters; `Theirs` is one of torch::optim.
template <class Ours, class Theirs, class OurOptions, class TheirOptions>
void expect_parity(at::ScalarType type,
                   const OurOptions& options,
                   const TheirOptions& torch_options) {
  const auto ours = parity_parameters(type);
  const auto theirs = parity_parameters(type);
  Ours optimizer(slots_of(ours), options);
  Theirs reference(theirs, torch_options);
  for (int step = 0; step < kParitySteps; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer.step();
    reference.step();
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = (ours[i] - theirs[i]).abs().max().template item<double>();
    EXPECT_LE(error, parity_tolerance(type)) << "parameter " << i;
    EXPECT_FALSE(ours[i].equal(parity_parameters(type)[i])) << "parameter " << i << " stayed";
  }
}

}  // namespace sheaf::testing
