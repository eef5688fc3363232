#include <c10/cuda/CUDAException.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph_fill_kernel.h"
#include "graph_fills.h"

namespace sheaf::train {
namespace {

using Nodes = std::vector<cudaGraphNode_t>;

// 1 MiB where stores are of 16 bytes, less where memory is not aligned. From there on the bytes
// count, not the latency, and the memset of the driver is as fast as any kernel.
constexpr std::size_t kMostStores = 1U << 16U;
constexpr std::size_t kMostBlocks = 32;

cudaGraphNodeType type_of(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  return type;
}

Nodes nodes_of(cudaGraph_t graph) {
  std::size_t size = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &size));
  Nodes nodes(size);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &size));
  return nodes;
}

/// Returns what `query`, one of CUDA's two, tells about a node's edges; nothing if one of them is
/// not an ordinary dependency, which CUDA does not tell to those who do not ask for its data.
template <class Query>
std::optional<Nodes> neighbours(cudaGraphNode_t node, const Query& query) {
  std::size_t size = 0;
  Nodes nodes;
  cudaError_t state = query(node, nullptr, nullptr, &size);
  if (state == cudaSuccess && size > 0) {
    nodes.resize(size);
    state = query(node, nodes.data(), nullptr, &size);
  }
  if (state == cudaErrorLossyQuery) {
    static_cast<void>(cudaGetLastError());
    return std::nullopt;
  }
  C10_CUDA_CHECK(state);
  return nodes;
}

/// Returns an element's bytes again and again; nothing for a size that no memset has.
std::optional<std::uint32_t> pattern_of(const cudaMemsetParams& memset) {
  switch (memset.elementSize) {
    case 1:
      return (memset.value & 0xffU) * 0x01010101U;
    case 2:
      return (memset.value & 0xffffU) * 0x00010001U;
    case 4:
      return memset.value;
    default:
      return std::nullopt;
  }
}

/// Returns how many bytes can be written at once, from the beginning of each row to its end.
std::size_t widest_store(const cudaMemsetParams& memset) {
  std::size_t multiples = reinterpret_cast<std::uintptr_t>(memset.dst);
  multiples |= memset.width * memset.elementSize;
  if (memset.height > 1) multiples |= memset.pitch;
  for (const std::size_t width : {16, 4}) {
    if (multiples % width == 0) return width;
  }
  return 1;
}

/// A kernel that writes what a memset does.
struct Fill {
  const void* kernel = nullptr;
  GraphFill all;
};

/// Returns nothing for a memset that shall stay.
std::optional<Fill> fill_for(const cudaMemsetParams& memset) {
  const std::optional<std::uint32_t> pattern = pattern_of(memset);
  const std::size_t width = widest_store(memset);
  const std::size_t stores_per_row = memset.width * memset.elementSize / width;
  const std::size_t stores = stores_per_row * memset.height;
  if (!pattern || stores > kMostStores) return std::nullopt;
  return Fill{.kernel = graph_fill_kernel(width),
              .all = {.target = static_cast<std::byte*>(memset.dst),
                      .pitch = memset.pitch,
                      .stores_per_row = static_cast<std::uint32_t>(stores_per_row),
                      .stores = static_cast<std::uint32_t>(stores),
                      .pattern = *pattern}};
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, const Nodes& dependencies, Fill fill) {
  const std::size_t blocks = (fill.all.stores + kGraphFillThreads - 1) / kGraphFillThreads;
  void* arguments[] = {&fill.all};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(fill.kernel);
  kernel.gridDim = dim3(static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, kMostBlocks)));
  kernel.blockDim = dim3(kGraphFillThreads);
  kernel.kernelParams = arguments;
  cudaGraphNode_t added = nullptr;
  C10_CUDA_CHECK(
      cudaGraphAddKernelNode(&added, graph, dependencies.data(), dependencies.size(), &kernel));
  return added;
}

/// Makes a kernel as urgent as the most urgent kernel next to it. A recorded kernel has the
/// priority of its stream; a new one has the lowest, and would wait for work that has time.
void adopt_priority(cudaGraphNode_t kernel, const Nodes& before, const Nodes& after) {
  cudaKernelNodeAttrValue most_urgent{};
  for (const Nodes* const nodes : {&before, &after}) {
    for (cudaGraphNode_t const node : *nodes) {
      if (type_of(node) != cudaGraphNodeTypeKernel) continue;
      cudaKernelNodeAttrValue value{};
      C10_CUDA_CHECK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
      most_urgent.priority = std::min(most_urgent.priority, value.priority);
    }
  }
  C10_CUDA_CHECK(
      cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributePriority, &most_urgent));
}

bool replace(cudaGraph_t graph, cudaGraphNode_t memset) {
  cudaMemsetParams params{};
  C10_CUDA_CHECK(cudaGraphMemsetNodeGetParams(memset, &params));
  const std::optional<Fill> fill = fill_for(params);
  const auto before = neighbours(memset, cudaGraphNodeGetDependencies);
  const auto after = neighbours(memset, cudaGraphNodeGetDependentNodes);
  if (!fill || !before || !after) return false;
  cudaGraphNode_t const kernel = add_kernel(graph, *before, *fill);
  adopt_priority(kernel, *before, *after);
  const Nodes from(after->size(), kernel);
  C10_CUDA_CHECK(cudaGraphAddDependencies(graph, from.data(), after->data(), nullptr, from.size()));
  C10_CUDA_CHECK(cudaGraphDestroyNode(memset));
  return true;
}

/// CUDA removes no node from a graph that takes or gives back memory itself.
bool takes_memory(const Nodes& nodes) {
  return std::ranges::any_of(nodes, [](cudaGraphNode_t node) {
    const cudaGraphNodeType type = type_of(node);
    return type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree;
  });
}

}  // namespace

int fill_by_kernels(cudaGraph_t graph) {
  const Nodes nodes = nodes_of(graph);
  if (takes_memory(nodes)) return 0;
  int replaced = 0;
  for (cudaGraphNode_t const node : nodes) {
    if (type_of(node) == cudaGraphNodeTypeMemset && replace(graph, node)) ++replaced;
  }
  return replaced;
}

}  // namespace sheaf::train
