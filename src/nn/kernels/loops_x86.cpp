#include "cpu.h"
#include "norm_loops.h"
#include "row_loops.h"
#include "score_loops.h"
#include "tile_loops.h"

namespace sheaf::nn {
namespace {

[[gnu::target("avx512f")]] void gelu_avx512(const float* x, float* y, Part part) {
  gelu_loop(x, y, part);
}

[[gnu::target("avx512f")]] void gelu_gradient_avx512(const float* x,
                                                     const float* gradient,
                                                     float* x_gradient,
                                                     Part part) {
  gelu_gradient_loop(x, gradient, x_gradient, part);
}

[[gnu::target("avx512f")]] void gelu_back_avx512(const GeluBackElements& all, Part rows) {
  gelu_back_part(all, rows);
}

[[gnu::target("avx512f")]] void norm_avx512(const NormElements& all, Part rows) {
  norm_part(all, rows);
}

[[gnu::target("avx512f")]] void norm_gradients_avx512(const NormGradientElements& all, Part rows) {
  norm_gradients_part(all, rows);
}

[[gnu::target("avx512f")]] void swiglu_avx512(const GateElements& all, Part part) {
  swiglu_loop(all, part);
}

[[gnu::target("avx512f")]] void swiglu_gradient_avx512(const GateElements& all, Part part) {
  swiglu_gradient_loop(all, part);
}

[[gnu::target("avx512f")]] void cross_entropy_avx512(const CrossEntropyRows& all, Part rows) {
  cross_entropy_rows(all, rows);
}

[[gnu::target("avx512f")]] void drop_avx512(const DropElements& all,
                                            const DropRule& rule,
                                            Part groups) {
  drop_part(all, rule, groups);
}

[[gnu::target("avx512f")]] void attend_avx512(const ScoreRows& rows) { attend_rows(rows); }

[[gnu::target("avx512f")]] void attend_gradient_avx512(const ScoreRows& rows,
                                                       const ScoreGradients& gradients) {
  attend_gradient_rows(rows, gradients);
}

[[gnu::target("avx512f")]] void multiply_avx512(const TiledProduct& all, float* scratch) {
  multiply_in_tiles<Tile<16, 8>>(all, scratch);
}

constexpr CpuKernels kAvx512{.name = "avx512",
                             .gelu = gelu_avx512,
                             .gelu_gradient = gelu_gradient_avx512,
                             .gelu_back = gelu_back_avx512,
                             .norm = norm_avx512,
                             .norm_gradients = norm_gradients_avx512,
                             .swiglu = swiglu_avx512,
                             .swiglu_gradient = swiglu_gradient_avx512,
                             .cross_entropy = cross_entropy_avx512,
                             .attend = attend_avx512,
                             .attend_gradient = attend_gradient_avx512,
                             .drop = drop_avx512,
                             .multiply = multiply_avx512};

[[gnu::target("avx2,fma")]] void gelu_avx2(const float* x, float* y, Part part) {
  gelu_loop(x, y, part);
}

[[gnu::target("avx2,fma")]] void gelu_gradient_avx2(const float* x,
                                                    const float* gradient,
                                                    float* x_gradient,
                                                    Part part) {
  gelu_gradient_loop(x, gradient, x_gradient, part);
}

[[gnu::target("avx2,fma")]] void gelu_back_avx2(const GeluBackElements& all, Part rows) {
  gelu_back_part(all, rows);
}

[[gnu::target("avx2,fma")]] void norm_avx2(const NormElements& all, Part rows) {
  norm_part(all, rows);
}

[[gnu::target("avx2,fma")]] void norm_gradients_avx2(const NormGradientElements& all, Part rows) {
  norm_gradients_part(all, rows);
}

[[gnu::target("avx2,fma")]] void swiglu_avx2(const GateElements& all, Part part) {
  swiglu_loop(all, part);
}

[[gnu::target("avx2,fma")]] void swiglu_gradient_avx2(const GateElements& all, Part part) {
  swiglu_gradient_loop(all, part);
}

[[gnu::target("avx2,fma")]] void cross_entropy_avx2(const CrossEntropyRows& all, Part rows) {
  cross_entropy_rows(all, rows);
}

[[gnu::target("avx2,fma")]] void drop_avx2(const DropElements& all,
                                           const DropRule& rule,
                                           Part groups) {
  drop_part(all, rule, groups);
}

[[gnu::target("avx2,fma")]] void attend_avx2(const ScoreRows& rows) { attend_rows(rows); }

[[gnu::target("avx2,fma")]] void attend_gradient_avx2(const ScoreRows& rows,
                                                      const ScoreGradients& gradients) {
  attend_gradient_rows(rows, gradients);
}

[[gnu::target("avx2,fma")]] void multiply_avx2(const TiledProduct& all, float* scratch) {
  multiply_in_tiles<Tile<8, 4>>(all, scratch);
}

constexpr CpuKernels kAvx2{.name = "avx2",
                           .gelu = gelu_avx2,
                           .gelu_gradient = gelu_gradient_avx2,
                           .gelu_back = gelu_back_avx2,
                           .norm = norm_avx2,
                           .norm_gradients = norm_gradients_avx2,
                           .swiglu = swiglu_avx2,
                           .swiglu_gradient = swiglu_gradient_avx2,
                           .cross_entropy = cross_entropy_avx2,
                           .attend = attend_avx2,
                           .attend_gradient = attend_gradient_avx2,
                           .drop = drop_avx2,
                           .multiply = multiply_avx2};

void gelu_sse2(const float* x, float* y, Part part) { gelu_loop(x, y, part); }

void gelu_gradient_sse2(const float* x, const float* gradient, float* x_gradient, Part part) {
  gelu_gradient_loop(x, gradient, x_gradient, part);
}

void gelu_back_sse2(const GeluBackElements& all, Part rows) { gelu_back_part(all, rows); }

void norm_sse2(const NormElements& all, Part rows) { norm_part(all, rows); }

void norm_gradients_sse2(const NormGradientElements& all, Part rows) {
  norm_gradients_part(all, rows);
}

void swiglu_sse2(const GateElements& all, Part part) { swiglu_loop(all, part); }

void swiglu_gradient_sse2(const GateElements& all, Part part) { swiglu_gradient_loop(all, part); }

void cross_entropy_sse2(const CrossEntropyRows& all, Part rows) { cross_entropy_rows(all, rows); }

void drop_sse2(const DropElements& all, const DropRule& rule, Part groups) {
  drop_part(all, rule, groups);
}

void attend_sse2(const ScoreRows& rows) { attend_rows(rows); }

void attend_gradient_sse2(const ScoreRows& rows, const ScoreGradients& gradients) {
  attend_gradient_rows(rows, gradients);
}

constexpr CpuKernels kSse2{.name = "sse2",
                           .gelu = gelu_sse2,
                           .gelu_gradient = gelu_gradient_sse2,
                           .gelu_back = gelu_back_sse2,
                           .norm = norm_sse2,
                           .norm_gradients = norm_gradients_sse2,
                           .swiglu = swiglu_sse2,
                           .swiglu_gradient = swiglu_gradient_sse2,
                           .cross_entropy = cross_entropy_sse2,
                           .attend = attend_sse2,
                           .attend_gradient = attend_gradient_sse2,
                           .drop = drop_sse2,
                           .multiply = nullptr};

}  // namespace

bool is_made_by_intel() { return __builtin_cpu_is("intel"); }

std::vector<CpuKernels> cpu_kernels() {
  std::vector<CpuKernels> found;
  if (__builtin_cpu_supports("avx512f")) found.push_back(kAvx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(kAvx2);
  found.push_back(kSse2);
  return found;
}

}  // namespace sheaf::nn
