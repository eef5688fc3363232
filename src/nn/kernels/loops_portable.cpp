#include "cpu.h"
#include "norm_loops.h"
#include "row_loops.h"
#include "score_loops.h"

namespace sheaf::nn {
namespace {

void gelu_portable(const float* x, float* y, Part part) { gelu_loop(x, y, part); }

void gelu_gradient_portable(const float* x, const float* gradient, float* x_gradient, Part part) {
  gelu_gradient_loop(x, gradient, x_gradient, part);
}

void gelu_back_portable(const GeluBackElements& all, Part rows) { gelu_back_part(all, rows); }

void norm_portable(const NormElements& all, Part rows) { norm_part(all, rows); }

void norm_gradients_portable(const NormGradientElements& all, Part rows) {
  norm_gradients_part(all, rows);
}

void swiglu_portable(const GateElements& all, Part part) { swiglu_loop(all, part); }

void swiglu_gradient_portable(const GateElements& all, Part part) {
  swiglu_gradient_loop(all, part);
}

void cross_entropy_portable(const CrossEntropyRows& all, Part rows) {
  cross_entropy_rows(all, rows);
}

void drop_portable(const DropElements& all, const DropRule& rule, Part groups) {
  drop_part(all, rule, groups);
}

void attend_portable(const ScoreRows& rows) { attend_rows(rows); }

void attend_gradient_portable(const ScoreRows& rows, const ScoreGradients& gradients) {
  attend_gradient_rows(rows, gradients);
}

constexpr CpuKernels kPortable{.name = "portable",
                               .gelu = gelu_portable,
                               .gelu_gradient = gelu_gradient_portable,
                               .gelu_back = gelu_back_portable,
                               .norm = norm_portable,
                               .norm_gradients = norm_gradients_portable,
                               .swiglu = swiglu_portable,
                               .swiglu_gradient = swiglu_gradient_portable,
                               .cross_entropy = cross_entropy_portable,
                               .attend = attend_portable,
                               .attend_gradient = attend_gradient_portable,
                               .drop = drop_portable,
                               .multiply = nullptr};

}  // namespace

bool is_made_by_intel() { return false; }

std::vector<CpuKernels> cpu_kernels() { return {kPortable}; }

}  // namespace sheaf::nn
