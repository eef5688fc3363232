#pragma once

#include <string_view>
#include <vector>

#include "elements.h"
#include "parallel.h"

namespace sheaf::nn {

/// The kernels as compiled for one kind of processor. Those that take a part work on that part of
/// the elements, rows or (of `drop`) groups of the whole batch.
struct CpuKernels {
  std::string_view name;
  void (*gelu)(const float* x, float* y, Part part);
  void (*gelu_gradient)(const float* x, const float* gradient, float* x_gradient, Part part);
  void (*swiglu)(const GateElements& all, Part part);
  void (*swiglu_gradient)(const GateElements& all, Part part);
  void (*cross_entropy)(const CrossEntropyRows& all, Part rows);
  void (*attend)(const ScoreRows& rows);
  void (*attend_gradient)(const ScoreRows& rows, const ScoreGradients& gradients);
  void (*drop)(const DropElements& all, const DropRule& rule, Part groups);
};

/// Returns what this processor can run, fastest first.
[[nodiscard]] std::vector<CpuKernels> cpu_kernels();

/// Returns the fastest ones.
[[nodiscard]] const CpuKernels& best_kernels();

}  // namespace sheaf::nn
