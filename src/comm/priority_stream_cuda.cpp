#include <c10/cuda/CUDAStream.h>

#include "priority_stream.h"

namespace sheaf::comm {

c10::Stream priority_stream(c10::Device device, StreamPriority priority) {
  // CUDA counts down: 0 is the lowest, and LibTorch takes the highest for anything beyond it.
  const int level = priority == StreamPriority::first
                        ? 1 - c10::cuda::max_compile_time_stream_priorities
                        : -static_cast<int>(priority);
  return c10::cuda::getStreamFromPool(level, device.index());
}

}  // namespace sheaf::comm
