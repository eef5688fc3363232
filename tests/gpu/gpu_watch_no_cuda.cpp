#include "gpu/gpu_watch.h"

// Nobody comes here: without CUDA all tests that watch a GPU are skipped.
namespace sheaf::testing {

NoHostWaiting::NoHostWaiting() = default;
NoHostWaiting::~NoHostWaiting() = default;
void finish_gpu_work() {}
void keep_gpu_busy() {}
GpuMemory gpu_memory_now() { return {}; }
void reset_gpu_peak() {}

}  // namespace sheaf::testing
