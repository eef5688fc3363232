#include "cuda.h"
#include "launch.cuh"

namespace sheaf::optim {
namespace {

struct AdamAlgorithm {
  static constexpr int kNumStates = 2;

  template <class T>
  __device__ static AdamElement<T> step(const AdamElement<T>& x, const AdamFactors<T>& by) {
    return adam<T>(x, by);
  }
};

}  // namespace

void adam_on_cuda(std::span<const CudaRun<AdamFactors<double>>> runs, void* stream) {
  launch<AdamAlgorithm>(runs, stream);
  check_launch("Adam");
}

}  // namespace sheaf::optim
