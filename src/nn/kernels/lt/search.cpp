#include "search.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "descriptors.h"

namespace sheaf::nn::lt {
namespace {

constexpr int kMostProposals = 12;
constexpr int kRepetitions = 4;
/// Limits of a workspace. For another limit the library proposes other algorithms, and those that
/// fit into little memory are not always among what it proposes for much.
constexpr std::size_t kLeastLimit = std::size_t{32} << 20;
constexpr std::size_t kMostLimit = std::size_t{256} << 20;
/// What has to be left of the time for an algorithm to be worth more than the least limit.
constexpr float kWorthMemory = 0.98F;

using Proposals = std::array<cublasLtMatmulHeuristicResult_t, kMostProposals>;

struct Workspace {
  void* memory = nullptr;
  std::size_t size = 0;
};

/// Returns milliseconds, or infinity where the library refuses after all.
float time_of(Descriptors& product,
              const cublasLtMatmulAlgo_t& algorithm,
              const Workspace& workspace) {
  const auto stream = c10::cuda::getCurrentCUDAStream();
  cublasLtHandle_t handle = at::cuda::getCurrentCUDABlasLtHandle();
  const auto run = [&] {
    return product.run(handle, algorithm, workspace.memory, workspace.size, stream);
  };
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  if (!run()) return std::numeric_limits<float>::infinity();
  begin.record(stream);
  for (int i = 0; i < kRepetitions; ++i) static_cast<void>(run());
  end.record(stream);
  end.synchronize();
  return begin.elapsed_time(end) / kRepetitions;
}

/// The fastest so far.
struct Best {
  std::optional<Choice> choice;
  float time = std::numeric_limits<float>::infinity();
};

/// Takes memory beside LibTorch's own workspace only where a proposal needs it: the peak of a run
/// is often near the memory that there is.
void try_proposals(Descriptors& product, std::size_t limit, Best& best) {
  Proposals proposals{};
  const int found = product.propose(
      at::cuda::getCurrentCUDABlasLtHandle(), limit, proposals.data(), kMostProposals);
  const std::span valid(proposals.data(), static_cast<std::size_t>(std::max(found, 0)));
  Workspace workspace{at::cuda::getCUDABlasLtWorkspace(), at::cuda::getCUDABlasLtWorkspaceSize()};
  for (const auto& proposal : valid) {
    if (proposal.state == CUBLAS_STATUS_SUCCESS) {
      workspace.size = std::max(workspace.size, proposal.workspaceSize);
    }
  }
  at::Tensor larger;
  if (workspace.size > at::cuda::getCUDABlasLtWorkspaceSize()) {
    larger = at::empty({static_cast<std::int64_t>(workspace.size)},
                       at::TensorOptions(at::kCUDA).dtype(at::kByte));
    workspace.memory = larger.mutable_data_ptr();
  }
  for (const auto& proposal : valid) {
    if (proposal.state != CUBLAS_STATUS_SUCCESS) continue;
    const float time = time_of(product, proposal.algo, workspace);
    const bool is_small = proposal.workspaceSize <= kLeastLimit;
    if (time >= (is_small ? best.time : best.time * kWorthMemory)) continue;
    best = {Choice{proposal.algo, proposal.workspaceSize}, time};
  }
}

/// Returns what may be spent beyond the least: twice what the matrices take themselves.
std::size_t larger_limit(const Shape& shape) {
  const auto factors =
      static_cast<std::size_t>((shape.m + shape.n) * shape.k) * c10::elementSize(shape.factors);
  const auto result = static_cast<std::size_t>(shape.m * shape.n) * c10::elementSize(shape.result);
  return std::clamp(2 * (factors + result), kLeastLimit, kMostLimit);
}

}  // namespace

std::optional<Choice> fastest(const Library& library, const Shape& shape, const Memory& memory) {
  Descriptors product(library, shape, memory);
  Best best;
  try_proposals(product, kLeastLimit, best);
  if (const std::size_t larger = larger_limit(shape); larger > kLeastLimit) {
    try_proposals(product, larger, best);
  }
  return best.choice;
}

std::optional<Choice> first_guess(const Library& library,
                                  const Shape& shape,
                                  const Memory& memory) {
  Descriptors product(library, shape, memory);
  cublasLtMatmulHeuristicResult_t proposal{};
  const int found = product.propose(
      at::cuda::getCurrentCUDABlasLtHandle(), at::cuda::getCUDABlasLtWorkspaceSize(), &proposal, 1);
  if (found < 1 || proposal.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return Choice{proposal.algo, proposal.workspaceSize};
}

}  // namespace sheaf::nn::lt
