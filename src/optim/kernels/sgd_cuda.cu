#include "cuda.h"
#include "launch.cuh"

namespace sheaf::optim {
namespace {

template <Type kCopy, class T>
__global__ void sgd_kernel(Elements all, SgdFactors<T> by) {
  T* master = static_cast<T*>(all.master);
  const T* gradient = static_cast<const T*>(all.gradient);
  T* buffer = static_cast<T*>(all.state1);
  for (std::int64_t i = first_element(); i < all.size; i += elements_apart()) {
    if (buffer == nullptr) {
      master[i] = plain_sgd(master[i], gradient[i], by);
    } else {
      const auto x = sgd<T>({master[i], gradient[i], buffer[i]}, by);
      master[i] = x.master;
      buffer[i] = x.buffer;
    }
    write_copy<kCopy>(all, i, master[i]);
  }
}

template <class T>
void launch(const Elements& all, const SgdFactors<T>& by, cudaStream_t stream) {
  with_copy_type(all.copy_type, [&](auto copy) {
    sgd_kernel<decltype(copy)::kValue, T>
        <<<num_blocks(all.size), kThreadsPerBlock, 0, stream>>>(all, by);
  });
}

}  // namespace

void sgd_on_cuda(const Elements& all, const SgdFactors<double>& by, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (all.type == Type::fp32) {
    launch(all, by.to<float>(), queue);
  } else {
    launch(all, by, queue);
  }
  check_launch("SGD");
}

}  // namespace sheaf::optim
