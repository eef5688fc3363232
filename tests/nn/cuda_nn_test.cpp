// The layers on a GPU: the same as on the CPU; skipped where there is none.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sheaf/nn/attention.h"
#include "sheaf/nn/dropout.h"
#include "sheaf/nn/linear.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "sheaf/nn/norm.h"
#include "sheaf/nn/rotary.h"
#include "support/document_positions.h"

namespace sheaf::nn {
namespace {

using Tensors = std::vector<at::Tensor>;
using Formula = std::function<at::Tensor(const Tensors&)>;

class LayersOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    at::manual_seed(3);
  }

  /// Value and gradients of a formula on one device, brought to the CPU.
  static Tensors run(const Formula& formula, const Tensors& inputs, at::Device device) {
    Tensors leaves;
    for (const at::Tensor& input : inputs) {
      at::Tensor leaf = input.detach().clone().to(device);
      if (leaf.is_floating_point()) leaf.requires_grad_();
      leaves.push_back(leaf);
    }
    const at::Tensor value = formula(leaves);
    value.sum().backward();
    Tensors results{value.detach().cpu()};
    for (const at::Tensor& leaf : leaves) {
      if (leaf.grad().defined()) results.push_back(leaf.grad().cpu());
    }
    return results;
  }

  /// In fp64, where another order of sums hardly shows.
  static void expect_same(const Formula& formula, const Tensors& inputs) {
    const Tensors cpu = run(formula, inputs, at::kCPU);
    const Tensors cuda = run(formula, inputs, at::kCUDA);
    ASSERT_EQ(cpu.size(), cuda.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_TRUE(at::allclose(cpu[i], cuda[i], 1e-9, 1e-9)) << "result " << i;
    }
  }

  static at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }
};

TEST_F(LayersOnCuda, DropoutDropsTheSameElements) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor x = at::ones({5, 7, 33}, type);
    const DropoutSite site{.probability = 0.3, .layer = 4};
    const Randomness randomness{.seed = 11, .step = 7, .first_sample = 3};
    const at::Tensor cpu = dropout(x, site, randomness);
    const at::Tensor cuda = dropout(x.to(at::kCUDA), site, randomness).cpu();
    EXPECT_TRUE(cpu.equal(cuda)) << c10::toString(type);
    EXPECT_GT((cpu == 0).sum().item<int>(), 0);
  }
}

TEST_F(LayersOnCuda, DropoutHasTheSameGradient) {
  expect_same(
      [](const Tensors& in) {
        return dropout(in[0] * in[0], {0.5, 1}, {.seed = 1});
      },
      {random({4, 9})});
}

TEST_F(LayersOnCuda, LinearInBothLayouts) {
  for (const auto layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    const bool turned = layout == WeightLayout::in_out;
    expect_same([&](const Tensors& in) { return linear(in[0], in[1], in[2], layout); },
                {random({3, 5, 8}), turned ? random({8, 6}) : random({6, 8}), random({6})});
  }
}

TEST_F(LayersOnCuda, Activations) {
  expect_same([](const Tensors& in) { return gelu_tanh(in[0]); }, {random({4, 33})});
  expect_same([](const Tensors& in) { return swiglu(in[0], in[1]); },
              {random({4, 33}), random({4, 33})});
  expect_same([](const Tensors& in) { return gelu_linear(in[0], in[1], in[2]); },
              {random({4, 8}), random({6, 8}), random({6})});
}

TEST_F(LayersOnCuda, NormAndRotary) {
  expect_same([](const Tensors& in) { return rms_norm(in[0], in[1], 1e-6); },
              {random({4, 32}), random({32})});
  expect_same([](const Tensors& in) { return layer_norm(in[0], in[1], in[2], 1e-6); },
              {random({2, 4, 32}), random({32}), random({32})});
  expect_same(
      [](const Tensors& in) {
        const auto table = make_rotary_table(
            {.head_size = 8, .num_positions = 5, .type = at::kDouble}, in[0].device());
        return rotate(in[0] * in[0], table);
      },
      {random({2, 3, 5, 8})});
}

// The layers with kernels of our own, each as a formula and its inputs.
std::vector<std::pair<Formula, Tensors>> layers_with_kernels() {
  const auto random = [](at::IntArrayRef shape) {
    return at::randn(shape).to(at::kBFloat16).to(at::kDouble);
  };
  const Formula turned = [](const Tensors& in) {
    const bool is_wide = in[0].scalar_type() == at::kDouble;
    const auto table = make_rotary_table(
        {.head_size = 16, .num_positions = 5, .type = is_wide ? at::kDouble : at::kFloat},
        in[0].device());
    return rotate(in[0] * in[0], table);
  };
  return {{[](const Tensors& in) { return rms_norm(in[0], in[1], 1e-6); },
           {random({3, 5, 32}), random({32})}},
          {[](const Tensors& in) { return layer_norm(in[0], in[1], in[2], 1e-6); },
           {random({3, 5, 32}), random({32}), random({32})}},
          {[](const Tensors& in) { return swiglu(in[0], in[1]); },
           {random({3, 5, 32}), random({3, 5, 32})}},
          {[](const Tensors& in) {
             const std::vector<at::Tensor> halves = in[0].chunk(2, -1);
             return swiglu(halves[0], halves[1]);
           },
           {random({3, 5, 32})}},
          {turned, {random({2, 3, 5, 16})}}};
}

TEST_F(LayersOnCuda, KernelsOfLayersInAllTypes) {
  for (const auto& [formula, inputs] : layers_with_kernels()) {
    const Tensors expected = run(formula, inputs, at::kCPU);
    for (const auto& [type, near] : {std::pair{at::kFloat, 1e-5}, {at::kBFloat16, 2e-2}}) {
      Tensors narrow;
      for (const at::Tensor& input : inputs) narrow.push_back(input.to(type));
      const Tensors results = run(formula, narrow, at::kCUDA);
      ASSERT_EQ(results.size(), expected.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const double off = (results[i].to(at::kDouble) - expected[i]).abs().max().item<double>();
        EXPECT_LE(off, near * std::max(expected[i].abs().max().item<double>(), 1.0));
      }
    }
  }
}

TEST_F(LayersOnCuda, KernelsOfLayersHaveSecondDerivatives) {
  const auto second = [](const Formula& formula, const Tensors& inputs, at::Device device) {
    Tensors leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.clone().to(device).requires_grad_());
    }
    const at::Tensor y = formula(leaves).pow(3).sum();
    const at::Tensor first =
        torch::autograd::grad({y}, {leaves[0]}, {}, std::nullopt, /*create_graph=*/true)[0];
    return torch::autograd::grad({first.square().sum()}, {leaves[0]})[0].cpu();
  };
  for (const auto& [formula, inputs] : layers_with_kernels()) {
    EXPECT_TRUE(at::allclose(
        second(formula, inputs, at::kCUDA), second(formula, inputs, at::kCPU), 1e-8, 1e-8));
  }
}

TEST_F(LayersOnCuda, AttentionWithAndWithoutDropout) {
  for (const double probability : {0.0, 0.4}) {
    expect_same(
        [&](const Tensors& in) {
          return attention(
              in[0], in[1], in[2], {.dropout = {probability, 2}, .random = {.seed = 5}});
        },
        {random({2, 4, 16, 8}), random({2, 2, 16, 8}), random({2, 2, 16, 8})});
  }
}

TEST_F(LayersOnCuda, AttentionOfDocuments) {
  for (const double probability : {0.0, 0.4}) {
    expect_same(
        [&](const Tensors& in) {
          const at::Tensor positions =
              sheaf::testing::document_positions({{3, 13}, {16}}).to(in[0].device());
          return attention(in[0],
                           in[1],
                           in[2],
                           {.dropout = {probability, 2},
                            .random = {.seed = 5},
                            .documents = documents_for(positions, in[0])});
        },
        {random({2, 4, 16, 8}), random({2, 2, 16, 8}), random({2, 2, 16, 8})});
  }
}

// In the types that ATen's fused kernels take, forward and backward, at lengths that are no
// multiple of anything.
TEST_F(LayersOnCuda, AttentionOfDocumentsInFusedKernels) {
  const at::Tensor positions = sheaf::testing::document_positions({{100, 201}, {301}});
  const auto attend = [&](const Tensors& in) {
    return attention(
        in[0], in[1], in[2], {.documents = documents_for(positions.to(in[0].device()), in[0])});
  };
  const Tensors in{random({2, 4, 301, 64}), random({2, 2, 301, 64}), random({2, 2, 301, 64})};
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-4}, {at::kBFloat16, 0.1}}) {
    Tensors narrow;
    for (const at::Tensor& each : in) narrow.push_back(each.to(type));
    const Tensors cpu = run(attend, in, at::kCPU), cuda = run(attend, narrow, at::kCUDA);
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const double off = (cuda[i].to(at::kDouble) - cpu[i]).abs().max().item<double>();
      EXPECT_LE(off, tolerance * cpu[i].abs().max().item<double>()) << "result " << i;
    }
  }
}

TEST_F(LayersOnCuda, LossAndItsGradients) {
  at::Tensor targets = at::randint(50, {37}, at::kLong);
  targets[3] = kIgnoredTarget;
  expect_same(
      [](const Tensors& in) {
        return linear_cross_entropy(in[0], in[1], in[2], {.vocabulary = 50, .chunk_rows = 8});
      },
      {random({37, 16}), random({64, 16}), targets});
}

TEST_F(LayersOnCuda, AttentionTakesThePreferredKernel) {
  const at::Tensor q = at::randn({1, 2, 64, 64}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
  const auto chosen = [&] {
    return static_cast<at::SDPBackend>(at::_fused_sdp_choice(q, q, q, {}, 0.0, /*is_causal=*/true));
  };
  const auto preferred = [&](AttentionKernel kernel) {
    prefer_attention_kernel(kernel, at::kCUDA);
    return chosen();
  };
  EXPECT_EQ(preferred(AttentionKernel::flash), at::SDPBackend::flash_attention);
  EXPECT_EQ(preferred(AttentionKernel::efficient), at::SDPBackend::efficient_attention);
  EXPECT_EQ(preferred(AttentionKernel::plain), at::SDPBackend::math);
  EXPECT_EQ(preferred(AttentionKernel::cudnn), at::SDPBackend::cudnn_attention);
}

TEST_F(LayersOnCuda, LossInLowPrecision) {
  const at::Tensor hidden = at::randn({100, 32}), weight = at::randn({64, 32});
  const at::Tensor targets = at::randint(64, {100}, at::kLong);
  const auto gradient = [&](at::ScalarType type, at::Device device) {
    const at::Tensor leaf = weight.to(device, type).requires_grad_();
    const at::Tensor loss =
        linear_cross_entropy(hidden.to(device, type), leaf, targets.to(device), {.chunk_rows = 30});
    (loss * 0.01).backward();
    return leaf.grad().cpu().to(at::kDouble);
  };
  const at::Tensor expected = gradient(at::kDouble, at::kCPU);
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    EXPECT_TRUE(at::allclose(gradient(type, at::kCUDA), expected, 0.05, 0.01))
        << c10::toString(type);
  }
}

}  // namespace
}  // namespace sheaf::nn
