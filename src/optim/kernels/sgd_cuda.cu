#include "cuda.h"
#include "launch.cuh"

namespace sheaf::optim {
namespace {

struct PlainSgd {
  static constexpr int kNumStates = 0;

  template <class T>
  __device__ static AdamElement<T> step(AdamElement<T> x, const SgdFactors<T>& by) {
    x.master = plain_sgd<T>(x.master, x.gradient, by);
    return x;
  }
};

/// Its buffer is where Adam has the mean gradient.
struct SgdWithMomentum {
  static constexpr int kNumStates = 1;

  template <class T>
  __device__ static AdamElement<T> step(AdamElement<T> x, const SgdFactors<T>& by) {
    const SgdElement<T> stepped = sgd<T>({x.master, x.gradient, x.exp_avg}, by);
    x.master = stepped.master;
    x.exp_avg = stepped.buffer;
    return x;
  }
};

}  // namespace

void sgd_on_cuda(std::span<const CudaRun<SgdFactors<double>>> runs, void* stream) {
  if (runs.empty()) return;
  if (runs.front().all.state1 == nullptr) {
    launch<PlainSgd>(runs, stream);
  } else {
    launch<SgdWithMomentum>(runs, stream);
  }
  check_launch("SGD");
}

}  // namespace sheaf::optim
