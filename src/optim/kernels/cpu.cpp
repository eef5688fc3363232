#include "cpu.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

namespace sheaf::optim {
namespace {

// A thread takes tens of microseconds to start, which is what this many elements take to step.
constexpr std::int64_t kFewestPerThread = std::int64_t{1} << 17;
// Parts begin at whole cache lines.
constexpr std::int64_t kGrain = 64;

const CpuKernels& best_kernels() {
  static const CpuKernels kBest = cpu_kernels().front();
  return kBest;
}

/// Calls `body` with parts that cover `size` elements, each on a thread of its own.
template <class Body>
void in_parts(std::int64_t size, Body body) {
  const std::int64_t num_parts =
      std::clamp<std::int64_t>(size / kFewestPerThread, 1, at::get_num_threads());
  const std::int64_t share = (size / num_parts + kGrain) / kGrain * kGrain;
  std::vector<std::jthread> threads;
  for (std::int64_t begin = share; begin < size; begin += share) {
    threads.emplace_back(body, Part{begin, std::min(begin + share, size)});
  }
  body(Part{0, std::min(share, size)});
}

}  // namespace

void adam_on_cpu(const Elements& all, const AdamFactors<double>& by) {
  in_parts(all.size, [&](Part part) { best_kernels().adam(all, by, part); });
}

void sgd_on_cpu(const Elements& all, const SgdFactors<double>& by) {
  in_parts(all.size, [&](Part part) { best_kernels().sgd(all, by, part); });
}

}  // namespace sheaf::optim
