#include "cuda.h"
#include "launch.cuh"

namespace sheaf::optim {
namespace {

template <Type kCopy, class T>
__global__ void adam_kernel(Elements all, AdamFactors<T> by) {
  T* master = static_cast<T*>(all.master);
  const T* gradient = static_cast<const T*>(all.gradient);
  T* exp_avg = static_cast<T*>(all.state1);
  T* exp_avg_sq = static_cast<T*>(all.state2);
  for (std::int64_t i = first_element(); i < all.size; i += elements_apart()) {
    const auto x = adam<T>({master[i], gradient[i], exp_avg[i], exp_avg_sq[i]}, by);
    master[i] = x.master;
    exp_avg[i] = x.exp_avg;
    exp_avg_sq[i] = x.exp_avg_sq;
    write_copy<kCopy>(all, i, x.master);
  }
}

template <class T>
void launch(const Elements& all, const AdamFactors<T>& by, cudaStream_t stream) {
  with_copy_type(all.copy_type, [&](auto copy) {
    adam_kernel<decltype(copy)::kValue, T>
        <<<num_blocks(all.size), kThreadsPerBlock, 0, stream>>>(all, by);
  });
}

}  // namespace

void adam_on_cuda(const Elements& all, const AdamFactors<double>& by, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (all.type == Type::fp32) {
    launch(all, by.to<float>(), queue);
  } else {
    launch(all, by, queue);
  }
  check_launch("Adam");
}

}  // namespace sheaf::optim
