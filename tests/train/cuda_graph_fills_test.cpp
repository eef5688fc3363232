// Kernels in the place of memset nodes of a graph; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "train/cuda_graph.h"
#include "train/graph_fills.h"

namespace sheaf::train {
namespace {

using ::testing::UnorderedElementsAreArray;

using Nodes = std::vector<cudaGraphNode_t>;

constexpr std::int64_t kKibi = 1 << 10;
constexpr std::int64_t kMebi = 1 << 20;
constexpr int kReplays = 3;

at::TensorOptions bytes() { return at::TensorOptions(at::kCUDA).dtype(at::kByte); }
at::TensorOptions floats() { return at::TensorOptions(at::kCUDA).dtype(at::kFloat); }

Nodes nodes_of(cudaGraph_t graph, cudaGraphNodeType type) {
  std::size_t size = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &size));
  Nodes nodes(size);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &size));
  std::erase_if(nodes, [type](cudaGraphNode_t node) {
    cudaGraphNodeType found{};
    C10_CUDA_CHECK(cudaGraphNodeGetType(node, &found));
    return found != type;
  });
  return nodes;
}

std::size_t num_memsets(cudaGraph_t graph) {
  return nodes_of(graph, cudaGraphNodeTypeMemset).size();
}

template <class Query>
Nodes neighbours(cudaGraphNode_t node, const Query& query) {
  std::size_t size = 0;
  C10_CUDA_CHECK(query(node, nullptr, nullptr, &size));
  Nodes nodes(size);
  C10_CUDA_CHECK(query(node, nodes.data(), nullptr, &size));
  return nodes;
}

int priority_of(cudaGraphNode_t kernel) {
  cudaKernelNodeAttrValue value{};
  C10_CUDA_CHECK(cudaGraphKernelNodeGetAttribute(kernel, cudaLaunchAttributePriority, &value));
  return value.priority;
}

/// A graph whose nodes are put together by hand.
class OwnGraph {
 public:
  OwnGraph() { C10_CUDA_CHECK(cudaGraphCreate(&graph_, 0)); }
  ~OwnGraph() { C10_CUDA_CHECK_WARN(cudaGraphDestroy(graph_)); }
  OwnGraph(const OwnGraph&) = delete;
  OwnGraph& operator=(const OwnGraph&) = delete;

  [[nodiscard]] cudaGraph_t get() const { return graph_; }

  cudaGraphNode_t add_empty(const Nodes& after = {}) {
    cudaGraphNode_t node = nullptr;
    C10_CUDA_CHECK(cudaGraphAddEmptyNode(&node, graph_, after.data(), after.size()));
    return node;
  }

  cudaGraphNode_t add_memset(const cudaMemsetParams& memset, const Nodes& after = {}) {
    cudaGraphNode_t node = nullptr;
    C10_CUDA_CHECK(cudaGraphAddMemsetNode(&node, graph_, after.data(), after.size(), &memset));
    return node;
  }

  /// Waits for what it does.
  void run() {
    cudaGraphExec_t ready = nullptr;
    C10_CUDA_CHECK(cudaGraphInstantiate(&ready, graph_, 0));
    C10_CUDA_CHECK(cudaGraphLaunch(ready, c10::cuda::getCurrentCUDAStream()));
    c10::cuda::device_synchronize();
    C10_CUDA_CHECK(cudaGraphExecDestroy(ready));
  }

 private:
  cudaGraph_t graph_ = nullptr;
};

/// Sets up to 1 KiB of `memory` to a byte.
cudaMemsetParams memset_of(const at::Tensor& memory, unsigned value = 0) {
  const auto size = std::min(static_cast<std::int64_t>(memory.nbytes()), kKibi);
  return {.dst = memory.mutable_data_ptr(),
          .pitch = 0,
          .value = value,
          .elementSize = 1,
          .width = static_cast<std::size_t>(size),
          .height = 1};
}

/// Gives it to the current stream.
void set_to(const at::Tensor& memory, int value) {
  C10_CUDA_CHECK(cudaMemsetAsync(
      memory.mutable_data_ptr(), value, memory.nbytes(), c10::cuda::getCurrentCUDAStream()));
}

class GraphFillsOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    // The default stream cannot be recorded.
    c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/true));
  }
  void TearDown() override {
    if (IsSkipped()) return;
    c10::cuda::setCurrentCUDAStream(c10::cuda::getDefaultCUDAStream());
  }
};

struct Case {
  const char* name;
  unsigned value;
  unsigned element_size;
  /// From the beginning of memory that is aligned.
  std::size_t offset;
  std::size_t width;
  std::size_t height = 1;
  std::size_t pitch = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

class GraphFillOf : public GraphFillsOnCuda, public ::testing::WithParamInterface<Case> {};

/// Sets what a memset node would.
void set_expected(const at::Tensor& bytes, const Case& given) {
  constexpr unsigned kBits = 8;
  auto* const all = bytes.mutable_data_ptr<std::uint8_t>();
  for (std::size_t row = 0; row < given.height; ++row) {
    for (std::size_t i = 0; i < given.width * given.element_size; ++i) {
      const auto shift = static_cast<unsigned>(i % given.element_size) * kBits;
      all[given.offset + row * given.pitch + i] = static_cast<std::uint8_t>(given.value >> shift);
    }
  }
}

TEST_P(GraphFillOf, WritesTheBytesOfTheMemset) {
  const Case& given = GetParam();
  const at::Tensor there = at::arange(kMebi + kKibi, at::kInt).remainder(251).to(at::kByte);
  const at::Tensor memory = there.cuda();
  OwnGraph graph;
  graph.add_memset({.dst = memory.mutable_data_ptr<std::uint8_t>() + given.offset,
                    .pitch = given.pitch,
                    .value = given.value,
                    .elementSize = given.element_size,
                    .width = given.width,
                    .height = given.height});
  EXPECT_EQ(fill_by_kernels(graph.get()), 1);
  EXPECT_EQ(num_memsets(graph.get()), 0U);
  graph.run();
  set_expected(there, given);
  EXPECT_TRUE(memory.cpu().equal(there));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    GraphFillOf,
    ::testing::Values(
        Case{.name = "one_byte", .value = 0xa5, .element_size = 1, .offset = 7, .width = 1},
        Case{.name = "bytes", .value = 0xa5, .element_size = 1, .offset = 0, .width = 4096},
        Case{.name = "odd_bytes", .value = 0xa5, .element_size = 1, .offset = 3, .width = 1001},
        Case{.name = "pairs", .value = 0xa5b6, .element_size = 2, .offset = 16, .width = 512},
        Case{.name = "odd_pairs", .value = 0xa5b6, .element_size = 2, .offset = 2, .width = 77},
        Case{.name = "words", .value = 0xa5b6c7d8, .element_size = 4, .offset = 32, .width = 64},
        Case{.name = "few_words", .value = 0xa5b6c7d8, .element_size = 4, .offset = 4, .width = 9},
        Case{.name = "a_mebibyte", .value = 0, .element_size = 1, .offset = 64, .width = kMebi},
        Case{.name = "rows_of_bytes",
             .value = 0x5a,
             .element_size = 1,
             .offset = 1,
             .width = 5,
             .height = 300,
             .pitch = 11},
        Case{.name = "rows_of_pairs",
             .value = 0x5a6b,
             .element_size = 2,
             .offset = 2,
             .width = 3,
             .height = 7,
             .pitch = 10},
        Case{.name = "rows_of_words",
             .value = 0x5a6b7c8d,
             .element_size = 4,
             .offset = 4,
             .width = 5,
             .height = 9,
             .pitch = 32},
        Case{.name = "aligned_rows",
             .value = 0x5a6b7c8d,
             .element_size = 4,
             .offset = 16,
             .width = 8,
             .height = 100,
             .pitch = 512}),
    [](const auto& given) { return std::string(given.param.name); });

TEST_F(GraphFillsOnCuda, KeepsAllDependencies) {
  const at::Tensor memory = at::zeros({kKibi}, bytes());
  OwnGraph graph;
  const Nodes before{graph.add_empty(), graph.add_empty()};
  cudaGraphNode_t const memset = graph.add_memset(memset_of(memory), before);
  const Nodes after{
      graph.add_empty({memset}), graph.add_empty({memset}), graph.add_empty({memset})};
  EXPECT_EQ(fill_by_kernels(graph.get()), 1);
  const Nodes kernels = nodes_of(graph.get(), cudaGraphNodeTypeKernel);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_THAT(neighbours(kernels[0], cudaGraphNodeGetDependencies),
              UnorderedElementsAreArray(before));
  EXPECT_THAT(neighbours(kernels[0], cudaGraphNodeGetDependentNodes),
              UnorderedElementsAreArray(after));
}

TEST_F(GraphFillsOnCuda, ReplacesOneAfterTheOther) {
  const at::Tensor memory = at::zeros({kKibi}, bytes());
  OwnGraph graph;
  cudaGraphNode_t const first = graph.add_memset(memset_of(memory, 1));
  cudaGraphNode_t const second = graph.add_memset(memset_of(memory, 2), {first});
  graph.add_memset(memset_of(memory, 3), {second});
  EXPECT_EQ(fill_by_kernels(graph.get()), 3);
  EXPECT_EQ(num_memsets(graph.get()), 0U);
  graph.run();
  EXPECT_TRUE(memory.eq(3).all().item<bool>());
}

TEST_F(GraphFillsOnCuda, LeavesLargeOnes) {
  const at::Tensor small = at::ones({kKibi}, bytes());
  const at::Tensor large = at::ones({4 * kMebi}, bytes());
  OwnGraph graph;
  cudaGraphNode_t const first = graph.add_memset(memset_of(small, 2));
  cudaMemsetParams all = memset_of(large, 3);
  all.width = large.nbytes();
  graph.add_memset(all, {first});
  EXPECT_EQ(fill_by_kernels(graph.get()), 1);
  EXPECT_EQ(num_memsets(graph.get()), 1U);
  graph.run();
  EXPECT_TRUE(small.eq(2).all().item<bool>());
  EXPECT_TRUE(large.eq(3).all().item<bool>());
}

// CUDA would refuse to take the memset out.
TEST_F(GraphFillsOnCuda, LeavesGraphsThatTakeMemory) {
  const at::Tensor memory = at::zeros({kKibi}, bytes());
  OwnGraph graph;
  cudaMemAllocNodeParams taken{};
  taken.poolProps.allocType = cudaMemAllocationTypePinned;
  taken.poolProps.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  taken.bytesize = kMebi;
  cudaGraphNode_t allocation = nullptr;
  C10_CUDA_CHECK(cudaGraphAddMemAllocNode(&allocation, graph.get(), nullptr, 0, &taken));
  graph.add_memset(memset_of(memory), {allocation});
  EXPECT_EQ(fill_by_kernels(graph.get()), 0);
  EXPECT_EQ(num_memsets(graph.get()), 1U);
}

TEST_F(GraphFillsOnCuda, ReplacesThoseOfARecording) {
  const at::Tensor x = at::zeros({kKibi}, floats()), matrix = at::ones({8, 32}, bytes());
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  graph.capture_begin();
  x.add_(1);
  set_to(x, 0);
  C10_CUDA_CHECK(cudaMemset2DAsync(matrix.mutable_data_ptr(),
                                   /*pitch=*/32,
                                   /*value=*/7,
                                   /*width=*/9,
                                   /*height=*/8,
                                   c10::cuda::getCurrentCUDAStream()));
  x.add_(2);
  graph.capture_end();
  EXPECT_EQ(fill_by_kernels(graph.raw_cuda_graph()), 2);
  EXPECT_EQ(num_memsets(graph.raw_cuda_graph()), 0U);
  graph.instantiate();
  for (int i = 0; i < kReplays; ++i) graph.replay();
  EXPECT_TRUE(x.eq(2).all().item<bool>());
  EXPECT_TRUE(matrix.narrow(1, 0, 9).eq(7).all().item<bool>());
  EXPECT_TRUE(matrix.narrow(1, 9, 23).eq(1).all().item<bool>());
}

TEST_F(GraphFillsOnCuda, IsAsUrgentAsItsNeighbours) {
  const at::Tensor x = at::zeros({kKibi}, floats());
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  graph.capture_begin();
  x.add_(1);
  set_to(x, 0);
  x.add_(2);
  graph.capture_end();
  fill_by_kernels(graph.raw_cuda_graph());
  const Nodes kernels = nodes_of(graph.raw_cuda_graph(), cudaGraphNodeTypeKernel);
  ASSERT_EQ(kernels.size(), 3U);
  for (cudaGraphNode_t const kernel : kernels) EXPECT_LT(priority_of(kernel), 0);
}

// Before the memset x is 3, behind it 0.
TEST_F(GraphFillsOnCuda, WaitsAndIsWaitedForInAStep) {
  const at::Tensor x = at::full({kKibi}, 5, floats());
  const at::Tensor busy = at::zeros({64 * kMebi}, floats());
  const at::Tensor before = at::zeros({kKibi}, floats()), behind = at::zeros({kKibi}, floats());
  CudaGraph graph(x.device());
  graph.record([&] {
    for (int i = 0; i < 10; ++i) busy.add_(1);
    x.copy_(busy.narrow(0, 0, kKibi)).fill_(3);
    before.add_(x);
    set_to(x, 0);
    behind.add_(x);
  });
  for (int i = 0; i < kReplays; ++i) graph.replay();
  EXPECT_TRUE(before.eq(3 * kReplays).all().item<bool>());
  EXPECT_TRUE(behind.eq(0).all().item<bool>());
}

}  // namespace
}  // namespace sheaf::train
