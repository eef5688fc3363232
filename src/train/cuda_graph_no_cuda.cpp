#include "cuda_graph.h"
#include "sheaf/base/error.h"

namespace sheaf::train {

struct CudaGraph::Impl {};

CudaGraph::CudaGraph(at::Device device, const CudaGraph* /*neighbour*/) {
  throw UsageError("this sheaf was built without CUDA and cannot record steps on " + device.str());
}

CudaGraph::~CudaGraph() = default;

void CudaGraph::record(const std::function<void()>&) {}

void CudaGraph::replay() {}

}  // namespace sheaf::train
