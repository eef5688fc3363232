#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <exception>
#include <string>

#include "cuda_graph.h"
#include "sheaf/base/error.h"

namespace sheaf::train {

struct CudaGraph::Impl {
  explicit Impl(at::Device on) : device(on), pool(at::cuda::graph_pool_handle()) {}

  at::Device device;
  at::cuda::MempoolId_t pool;
  at::cuda::CUDAGraph graph;

  /// Returns why CUDA has recorded nothing; empty if it has.
  std::string end() {
    try {
      graph.capture_end();
      return {};
    } catch (const c10::Error& error) {
      // LibTorch leaves its allocator and its generator in the state of recording, and CUDA would
      // tell this error as one of the next call.
      c10::cuda::CUDACachingAllocator::endAllocateToPool(device.index(), pool);
      c10::cuda::CUDACachingAllocator::releasePool(device.index(), pool);
      at::Generator generator = at::globalContext().defaultGenerator(device);
      generator.graphsafe_set_state(generator.clone());
      static_cast<void>(cudaGetLastError());
      return error.what_without_backtrace();
    }
  }
};

CudaGraph::CudaGraph(at::Device device) : impl_(std::make_unique<Impl>(device)) {}

CudaGraph::~CudaGraph() = default;

void CudaGraph::record(const std::function<void()>& body) {
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();
  // Other threads, such as those of loaders and of NCCL, go on with what they do.
  impl_->graph.capture_begin(impl_->pool, cudaStreamCaptureModeThreadLocal);
  try {
    body();
  } catch (...) {
    static_cast<void>(impl_->end());
    throw;
  }
  const std::string reason = impl_->end();
  if (!reason.empty()) throw Error("CUDA could not record it: " + reason);
}

void CudaGraph::replay() { impl_->graph.replay(); }

}  // namespace sheaf::train
