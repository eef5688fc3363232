#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elements.h"

namespace sheaf::optim {

/// Elements from `begin` up to but not including `end`.
struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The kernels as compiled for one kind of processor. They give the same bits; see
/// Note [The same bits everywhere].
struct CpuKernels {
  std::string_view name;
  void (*adam)(const Elements& all, const AdamFactors<double>& by, Part part);
  void (*sgd)(const Elements& all, const SgdFactors<double>& by, Part part);
};

/// Returns what this processor can run, fastest first.
[[nodiscard]] std::vector<CpuKernels> cpu_kernels();

/// Steps all elements with as many threads as LibTorch's operators use, or fewer if there is little
/// to do; returns when they are done.
void adam_on_cpu(const Elements& all, const AdamFactors<double>& by);
void sgd_on_cpu(const Elements& all, const SgdFactors<double>& by);

}  // namespace sheaf::optim
