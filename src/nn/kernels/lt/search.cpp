#include "search.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <limits>

#include "descriptors.h"

namespace sheaf::nn::lt {
namespace {

constexpr int kMostProposals = 12;
constexpr int kRepetitions = 4;

using Proposals = std::array<cublasLtMatmulHeuristicResult_t, kMostProposals>;

/// Returns milliseconds, or infinity where the library refuses after all.
float time_of(Descriptors& product, const cublasLtMatmulAlgo_t& algorithm) {
  const auto stream = c10::cuda::getCurrentCUDAStream();
  cublasLtHandle_t handle = at::cuda::getCurrentCUDABlasLtHandle();
  void* const workspace = at::cuda::getCUDABlasLtWorkspace();
  const std::size_t size = at::cuda::getCUDABlasLtWorkspaceSize();
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  if (!product.run(handle, algorithm, workspace, size, stream)) {
    return std::numeric_limits<float>::infinity();
  }
  begin.record(stream);
  for (int i = 0; i < kRepetitions; ++i) {
    static_cast<void>(product.run(handle, algorithm, workspace, size, stream));
  }
  end.record(stream);
  end.synchronize();
  return begin.elapsed_time(end) / kRepetitions;
}

}  // namespace

std::optional<cublasLtMatmulAlgo_t> fastest(const Library& library,
                                            const Shape& shape,
                                            const Memory& memory) {
  Descriptors product(library, shape, memory);
  Proposals proposals{};
  const int found = product.propose(at::cuda::getCurrentCUDABlasLtHandle(),
                                    at::cuda::getCUDABlasLtWorkspaceSize(),
                                    proposals.data(),
                                    kMostProposals);
  std::optional<cublasLtMatmulAlgo_t> best;
  float best_time = std::numeric_limits<float>::infinity();
  for (int i = 0; i < found; ++i) {
    const auto& proposal = proposals[static_cast<std::size_t>(i)];
    if (proposal.state != CUBLAS_STATUS_SUCCESS) continue;
    const float time = time_of(product, proposal.algo);
    if (time >= best_time) continue;
    best = proposal.algo;
    best_time = time;
  }
  return best;
}

std::optional<cublasLtMatmulAlgo_t> first_guess(const Library& library,
                                                const Shape& shape,
                                                const Memory& memory) {
  Descriptors product(library, shape, memory);
  cublasLtMatmulHeuristicResult_t proposal{};
  const int found = product.propose(
      at::cuda::getCurrentCUDABlasLtHandle(), at::cuda::getCUDABlasLtWorkspaceSize(), &proposal, 1);
  if (found < 1 || proposal.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return proposal.algo;
}

}  // namespace sheaf::nn::lt
