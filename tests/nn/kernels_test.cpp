// The CPU kernels as compiled for every processor that this one can stand for.
#include <torch/nn.h>

#include "nn/kernels/cpu.h"
#include "nn/kernels/gemm.h"
#include "outcome.h"

namespace sheaf::nn {
namespace {

class Kernels : public ::testing::TestWithParam<CpuKernels> {};
INSTANTIATE_TEST_SUITE_P(Processors,
                         Kernels,
                         ::testing::ValuesIn(cpu_kernels()),
                         [](const auto& of) { return std::string(of.param.name); });

at::Tensor numbers(std::int64_t size) { return at::linspace(-12, 12, size, at::kFloat); }

TEST_P(Kernels, ComputeGelu) {
  const at::Tensor x = numbers(1003), y = at::empty_like(x), gradient = at::empty_like(x);
  const at::Tensor ones = at::ones_like(x);
  GetParam().gelu(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), {0, 1003});
  GetParam().gelu_gradient(x.const_data_ptr<float>(),
                           ones.const_data_ptr<float>(),
                           gradient.mutable_data_ptr<float>(),
                           {0, 1003});
  const at::Tensor wide = x.to(at::kDouble);
  expect_near(y, at::gelu(wide, "tanh"), 2e-7);
  expect_near(gradient, at::gelu_backward(ones.to(at::kDouble), wide, "tanh"), 1e-6);
}

TEST_P(Kernels, GoBackThroughGelu) {
  for (const std::int64_t width : {1, 15, 16, 17, 301}) {
    const at::Tensor inner = numbers(3 * width).view({3, width}), given = at::randn({3, width});
    const at::Tensor gradient = given.clone(), again = at::empty_like(inner);
    const at::Tensor sums = at::ones({width});
    GetParam().gelu_back({.inner = inner.const_data_ptr<float>(),
                          .gradient = gradient.mutable_data_ptr<float>(),
                          .again = again.mutable_data_ptr<float>(),
                          .width = width,
                          .sums = sums.mutable_data_ptr<float>()},
                         {0, 3});
    const at::Tensor wide = inner.to(at::kDouble);
    const at::Tensor expected = at::gelu_backward(given.to(at::kDouble), wide, "tanh");
    expect_near(again, at::gelu(wide, "tanh"), 2e-7);
    expect_near(gradient, expected, 1e-6);
    expect_near(sums, expected.sum(0) + 1, 1e-6);
  }
}

TEST_P(Kernels, NormaliseRows) {
  for (const std::int64_t width : {1, 15, 16, 17, 384}) {
    const at::Tensor x = at::randn({3, width}) * 2 + 0.5, y = at::empty_like(x);
    const at::Tensor weight = at::randn({width}), bias = at::randn({width});
    const at::Tensor mean = at::empty({3}), inverse = at::empty({3});
    GetParam().norm({.x = x.const_data_ptr<float>(),
                     .y = y.mutable_data_ptr<float>(),
                     .width = width,
                     .weight = weight.const_data_ptr<float>(),
                     .bias = bias.const_data_ptr<float>(),
                     .mean = mean.mutable_data_ptr<float>(),
                     .inverse = inverse.mutable_data_ptr<float>(),
                     .epsilon = 1e-5F},
                    {0, 3});
    const auto wide = [](const at::Tensor& each) { return each.to(at::kDouble); };
    expect_near(y, at::layer_norm(wide(x), {width}, wide(weight), wide(bias)), 2e-6);
    expect_near(mean, wide(x).mean(1), 1e-6);
  }
}

/// A matrix of which every layout is a view.
Matrix matrix_of(const at::Tensor& x) {
  return {x.mutable_data_ptr<float>(), std::max(x.stride(0), x.stride(1))};
}

TEST_P(Kernels, MultiplyInTiles) {
  if (GetParam().multiply == nullptr) GTEST_SKIP() << "no tiles for this processor";
  std::vector<float> scratch(kTileScratch, 7);
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {8, 48, 3}, {9, 65, 16}, {70, 200, 530}}) {
    for (const bool by_columns_a : {false, true}) {
      for (const bool by_columns_b : {false, true}) {
        const at::Tensor a = by_columns_a ? at::randn({k, m + 1}).t() : at::randn({m, k + 1});
        const at::Tensor b = by_columns_b ? at::randn({n, k + 1}).t() : at::randn({k, n + 1});
        const at::Tensor c = at::ones({m, n + 2}), bias = at::randn({n}), active = at::ones({m, n});
        GetParam().multiply({.product = {.a = matrix_of(a),
                                         .b = matrix_of(b),
                                         .c = matrix_of(c),
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .transpose_a = by_columns_a,
                                         .transpose_b = by_columns_b},
                             .bias = bias.const_data_ptr<float>(),
                             .gelu = matrix_of(active)},
                            scratch.data());
        const at::Tensor expected = a.narrow(0, 0, m)
                                        .narrow(1, 0, k)
                                        .to(at::kDouble)
                                        .mm(b.narrow(0, 0, k).narrow(1, 0, n).to(at::kDouble)) +
                                    bias;
        expect_near(c.narrow(1, 0, n), expected, 3e-6);
        expect_near(active, at::gelu(expected, "tanh"), 3e-6);
        EXPECT_TRUE(c.narrow(1, n, 2).eq(1).all().item<bool>());
      }
    }
  }
}

TEST_P(Kernels, ComputeSwiGlu) {
  const at::Tensor x = numbers(1003), up = x.flip(0), y = at::empty_like(x);
  GetParam().swiglu({.gate = x.const_data_ptr<float>(),
                     .up = up.const_data_ptr<float>(),
                     .output = y.mutable_data_ptr<float>()},
                    {0, 1003});
  expect_near(y, at::silu(x.to(at::kDouble)) * up, 3e-7);
}

TEST_P(Kernels, ComputeCrossEntropy) {
  for (const std::int64_t vocabulary : {1, 15, 16, 17, 511, 513, 3001}) {
    const at::Tensor logits = at::randn({3, vocabulary}) * 8;
    const at::Tensor targets = at::tensor({vocabulary - 1, std::int64_t{-100}, std::int64_t{0}});
    const at::Tensor softmax = logits.to(at::kDouble).softmax(1);
    const at::Tensor losses = at::full({3}, -1, at::kDouble);
    at::Tensor gradients = softmax - at::one_hot(targets.clamp_min(0), vocabulary);
    gradients[1] = 0;
    GetParam().cross_entropy({.logits = logits.mutable_data_ptr<float>(),
                              .vocabulary = vocabulary,
                              .targets = targets.const_data_ptr<std::int64_t>(),
                              .losses = losses.mutable_data_ptr<double>()},
                             {0, 3});
    expect_near(logits, gradients, 5e-7);
    EXPECT_NEAR(losses[0].item<double>(), -softmax[0][vocabulary - 1].log().item<double>(), 1e-6);
    EXPECT_EQ(losses[1].item<double>(), 0);
  }
}

TEST_P(Kernels, DropTheSameElements) {
  const DropRule rule{.key = philox_key(1, 2), .step = 3, .threshold = 1U << 30, .scale = 2};
  for (const bool is_double : {false, true}) {
    const at::Tensor x = at::randn({3, 333}, is_double ? at::kDouble : at::kFloat);
    const auto dropped = [&](const CpuKernels& kernels) {
      at::Tensor y = at::empty_like(x);
      const DropElements all{.input = x.const_data_ptr(),
                             .output = y.mutable_data_ptr(),
                             .num_samples = 3,
                             .sample_size = 333,
                             .is_double = is_double};
      kernels.drop(all, rule, {0, 3 * all.groups_per_sample()});
      return y;
    };
    EXPECT_TRUE(dropped(GetParam()).equal(dropped(cpu_kernels().back())));
  }
}

TEST_P(Kernels, AttendToWhatIsSeen) {
  for (const bool causal : {true, false}) {
    const at::Tensor scores = at::randn({5, 40}), log_sums = at::empty({5});
    at::Tensor seen = scores.to(at::kDouble) * 0.5;
    if (causal) seen = seen.masked_fill(at::ones({5, 40}, at::kBool).triu(31), -INFINITY);
    GetParam().attend({.scores = scores.mutable_data_ptr<float>(),
                       .num_rows = 5,
                       .num_columns = 40,
                       .seen = 31,
                       .causal = causal,
                       .scale = 0.5F,
                       .log_sums = log_sums.mutable_data_ptr<float>()});
    expect_near(scores, seen.softmax(1), 5e-7);
    expect_near(log_sums, seen.logsumexp(1), 3e-7);
  }
}

TEST_P(Kernels, GiveTheGradientOfWhatIsSeen) {
  const at::Tensor scores = at::randn({5, 40}, at::kDouble).requires_grad_();
  const at::Tensor values = at::randn({40, 20}, at::kDouble);
  const at::Tensor above = at::randn({5, 20}, at::kDouble);
  const at::Tensor seen =
      (scores * 0.5).masked_fill(at::ones({5, 40}, at::kBool).triu(31), -INFINITY);
  const at::Tensor output = seen.softmax(1).mm(values);
  output.backward(above);
  const auto copy = [](const at::Tensor& x) { return x.detach().to(at::kFloat).contiguous(); };
  const at::Tensor weights = copy(scores), gradients = copy(above.mm(values.t()));
  const at::Tensor log_sums = copy(seen.logsumexp(1)), out = copy(output), by = copy(above);
  GetParam().attend_gradient({.scores = weights.mutable_data_ptr<float>(),
                              .num_rows = 5,
                              .num_columns = 40,
                              .seen = 31,
                              .scale = 0.5F,
                              .log_sums = log_sums.mutable_data_ptr<float>()},
                             {.gradients = gradients.mutable_data_ptr<float>(),
                              .output = out.const_data_ptr<float>(),
                              .output_stride = 20,
                              .output_gradient = by.const_data_ptr<float>(),
                              .gradient_stride = 20,
                              .head_size = 20});
  expect_near(weights, seen.detach().softmax(1), 1e-6);
  expect_near(gradients, scores.grad(), 2e-6);
}

TEST(Products, FindTheBlasOfLibTorch) {
  EXPECT_TRUE(has_gemm()) << "attention on CPUs falls back to ATen's";
}

}  // namespace
}  // namespace sheaf::nn
