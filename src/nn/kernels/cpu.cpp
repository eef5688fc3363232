#include "cpu.h"

namespace sheaf::nn {

const CpuKernels& best_kernels() {
  static const CpuKernels kBest = cpu_kernels().front();
  return kBest;
}

}  // namespace sheaf::nn
