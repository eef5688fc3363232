#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace sheaf::train {

/// Work for a GPU that is recorded once and then started as one. Its tensors live in memory of
/// their own, which is taken when it is recorded and kept until this is destroyed.
class CudaGraph {
 public:
  /// Throws UsageError in a build without CUDA.
  explicit CudaGraph(at::Device device);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  /// Records what `body`, and backward passes in it, give to the current stream, which must not be
  /// the default one; none of it runs. Memory that LibTorch keeps for later is given back to the
  /// GPU before. Throws what `body` throws, or Error where CUDA cannot record what it did: then
  /// nothing is recorded.
  void record(const std::function<void()>& body);
  /// Gives all of it to the current stream; does not wait.
  void replay();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::train
