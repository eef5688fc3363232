#pragma once

#include <string_view>
#include <vector>

#include "elements.h"
#include "parallel.h"
#include "tiles.h"

namespace sheaf::nn {

/// The kernels as compiled for one kind of processor. Those that take a part work on that part of
/// the elements, rows or (of `drop`) groups of the whole batch.
struct CpuKernels {
  std::string_view name;
  void (*gelu)(const float* x, float* y, Part part);
  void (*gelu_gradient)(const float* x, const float* gradient, float* x_gradient, Part part);
  void (*gelu_back)(const GeluBackElements& all, Part rows);
  void (*norm)(const NormElements& all, Part rows);
  void (*norm_gradients)(const NormGradientElements& all, Part rows);
  void (*swiglu)(const GateElements& all, Part part);
  void (*swiglu_gradient)(const GateElements& all, Part part);
  void (*cross_entropy)(const CrossEntropyRows& all, Part rows);
  void (*attend)(const ScoreRows& rows);
  void (*attend_gradient)(const ScoreRows& rows, const ScoreGradients& gradients);
  void (*drop)(const DropElements& all, const DropRule& rule, Part groups);
  /// Needs room for kTileScratch numbers. Null where there are no tiles.
  void (*multiply)(const TiledProduct& all, float* scratch);
};

/// Returns what this processor can run, fastest first.
[[nodiscard]] std::vector<CpuKernels> cpu_kernels();

/// Says whether Intel made this processor: its own library, MKL, is the fastest there and nowhere
/// else.
[[nodiscard]] bool is_made_by_intel();

/// Returns the fastest ones.
[[nodiscard]] const CpuKernels& best_kernels();

}  // namespace sheaf::nn
