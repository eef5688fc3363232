#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace sheaf::train {

/// Work for a GPU that is recorded once and then started as one. Its tensors live in memory of
/// their own, which is taken when it is recorded and kept until this and its neighbours are
/// destroyed.
class CudaGraph {
 public:
  /// Throws UsageError in a build without CUDA. With `neighbour` both have the same memory: what is
  /// recorded later may use what the earlier one has given up within its recording, so they must
  /// not run at the same time.
  explicit CudaGraph(at::Device device, const CudaGraph* neighbour = nullptr);
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
