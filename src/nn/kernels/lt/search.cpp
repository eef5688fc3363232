#include "search.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

#include "descriptors.h"

namespace sheaf::nn::lt {
namespace {

constexpr int kMostProposals = 12;
/// What has to be left of the time for an algorithm to be worth more memory than LibTorch's own.
constexpr float kWorthMemory = 0.98F;

using Proposals = std::array<cublasLtMatmulHeuristicResult_t, kMostProposals>;

struct Workspace {
  void* memory = nullptr;
  std::size_t size = 0;
};

/// Returns the milliseconds of a run, in the best of some rounds.
template <class Run>
float time_in_rounds(int rounds, int runs, const Run& run) {
  const auto stream = c10::cuda::getCurrentCUDAStream();
  std::vector<at::cuda::CUDAEvent> ends;
  for (int i = 0; i <= rounds; ++i) ends.emplace_back(cudaEventDefault);
  ends.front().record(stream);
  for (int round = 1; round <= rounds; ++round) {
    for (int i = 0; i < runs; ++i) static_cast<void>(run());
    ends[static_cast<std::size_t>(round)].record(stream);
  }
  ends.back().synchronize();
  float best = std::numeric_limits<float>::infinity();
  for (std::size_t i = 1; i < ends.size(); ++i) {
    best = std::min(best, ends[i - 1].elapsed_time(ends[i]) / static_cast<float>(runs));
  }
  return best;
}

/// Returns milliseconds, or infinity where the library refuses after all. Short products are over
/// before the next is started, so that starts would be measured: these are timed in a queue that
/// the GPU is kept from until it is full.
float time_of(Descriptors& product,
              const cublasLtMatmulAlgo_t& algorithm,
              const Workspace& workspace) {
  const auto stream = c10::cuda::getCurrentCUDAStream();
  cublasLtHandle_t handle = at::cuda::getCurrentCUDABlasLtHandle();
  const auto run = [&] {
    return product.run(handle, algorithm, workspace.memory, workspace.size, stream);
  };
  if (!run()) return std::numeric_limits<float>::infinity();
  constexpr int kRuns = 4, kRounds = 3, kShortRuns = 16;
  constexpr float kShort = 0.06F;
  const float time = time_in_rounds(1, kRuns, run);
  if (time > kShort) return time;
  constexpr std::int64_t kCyclesOfStarts = 1'000'000;
  at::cuda::sleep(kCyclesOfStarts);
  return time_in_rounds(kRounds, kShortRuns, run);
}

/// The fastest so far.
struct Best {
  std::optional<Choice> choice;
  float time = std::numeric_limits<float>::infinity();
};

/// Returns LibTorch's own, or as much as is asked for; nothing where that cannot be had.
std::optional<Workspace> workspace_of(std::size_t size, at::Tensor& larger) {
  const std::size_t own = at::cuda::getCUDABlasLtWorkspaceSize();
  if (size <= own) return Workspace{at::cuda::getCUDABlasLtWorkspace(), own};
  larger = room_for(size);
  if (!larger.defined()) return std::nullopt;
  return Workspace{larger.mutable_data_ptr(), size};
}

/// Takes no more memory than a proposal needs: the peak of a run is often near what there is.
void try_proposals(Descriptors& product, std::size_t limit, Best& best) {
  Proposals proposals{};
  const int found = product.propose(
      at::cuda::getCurrentCUDABlasLtHandle(), limit, proposals.data(), kMostProposals);
  const std::span all(proposals.data(), static_cast<std::size_t>(std::max(found, 0)));
  for (const auto& proposal : all) {
    if (proposal.state != CUBLAS_STATUS_SUCCESS) continue;
    at::Tensor larger;
    const auto workspace = workspace_of(proposal.workspaceSize, larger);
    if (!workspace) continue;
    const float time = time_of(product, proposal.algo, *workspace);
    if (time >= (larger.defined() ? best.time * kWorthMemory : best.time)) continue;
    best = {Choice{proposal.algo, proposal.workspaceSize}, time};
  }
}

}  // namespace

at::Tensor room_for(std::size_t size) {
  try {
    return at::empty({static_cast<std::int64_t>(size)},
                     at::TensorOptions(at::kCUDA).dtype(at::kByte));
  } catch (const c10::OutOfMemoryError&) {
    return {};
  }
}

std::size_t workspace_limit(const Shape& shape) {
  constexpr std::size_t kMost = std::size_t{256} << 20;
  const std::size_t own = at::cuda::getCUDABlasLtWorkspaceSize();
  // Asked for every product, and LibTorch does not look again either.
  static const bool kIsChosen = std::getenv("CUBLAS_WORKSPACE_CONFIG") != nullptr ||
                                std::getenv("CUBLASLT_WORKSPACE_SIZE") != nullptr;
  if (kIsChosen || shape.guessed) return own;
  const auto factors =
      static_cast<std::size_t>((shape.m + shape.n) * shape.k) * c10::elementSize(shape.factors);
  const auto result = static_cast<std::size_t>(shape.m * shape.n) * c10::elementSize(shape.result);
  return std::max(own, std::min(2 * (factors + result), kMost));
}

/// For another limit the library proposes other algorithms, and those that fit into little memory
/// are not always among what it proposes for much.
std::optional<Choice> fastest(const Library& library, const Shape& shape, const Memory& memory) {
  Descriptors product(library, shape, memory);
  const std::size_t own = at::cuda::getCUDABlasLtWorkspaceSize();
  Best best;
  try_proposals(product, own, best);
  if (shape.workspace > own) try_proposals(product, shape.workspace, best);
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
