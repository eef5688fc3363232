#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <exception>
#include <string>

#include "cuda_graph.h"
#include "graph_fills.h"
#include "sheaf/base/error.h"

namespace sheaf::train {

struct CudaGraph::Impl {
  Impl(at::Device on, at::cuda::MempoolId_t memory) : device(on), pool(memory) {}

  at::Device device;
  at::cuda::MempoolId_t pool;
  // What it records are nodes that can still be changed, until it is prepared.
  at::cuda::CUDAGraph graph{/*keep_graph=*/true};

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

  /// Makes what is recorded ready to be replayed. Returns why CUDA could not; empty if it could.
  std::string prepare() {
    try {
      // See Note [Fills by kernels].
      fill_by_kernels(graph.raw_cuda_graph());
      graph.instantiate();
      return {};
    } catch (const c10::Error& error) {
      // Recording has ended: whoever destroys the graph leaves nothing behind.
      static_cast<void>(cudaGetLastError());
      return error.what_without_backtrace();
    }
  }
};

CudaGraph::CudaGraph(at::Device device, const CudaGraph* neighbour)
    : impl_(std::make_unique<Impl>(
          device, neighbour != nullptr ? neighbour->impl_->pool : at::cuda::graph_pool_handle())) {}

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
  std::string reason = impl_->end();
  if (reason.empty()) reason = impl_->prepare();
  if (!reason.empty()) throw Error("CUDA could not record it: " + reason);
}

void CudaGraph::replay() { impl_->graph.replay(); }

}  // namespace sheaf::train
