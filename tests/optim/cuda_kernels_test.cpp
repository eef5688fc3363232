// The CUDA kernels with every combination of types, and at odd places; skipped where there is no
// GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "optim/flat_slots.h"
#include "optim/sum_of_squares.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::FlatSlots;

class OptimizerKernelsOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  }
};

constexpr std::int64_t kSize = 70'013;

struct Combination {
  at::ScalarType master = at::kFloat;
  at::ScalarType gradient = at::kFloat;
  Moments moments = Moments::fp32;
  bool has_copy = false;
  /// Elements by which each tensor lies off the place that its memory begins at.
  std::int64_t offset = 0;
  std::int64_t gradient_offset = 0;
};

/// Returns values that lie `offset` elements off the beginning of their memory.
at::Tensor placed(const at::Tensor& values, at::Device device, std::int64_t offset) {
  const at::Tensor memory = at::zeros({values.numel() + offset}, values.options().device(device));
  memory.narrow(0, offset, values.numel()).copy_(values);
  return memory.narrow(0, offset, values.numel());
}

/// Returns master, states and copy after four steps, as fp64 on the CPU.
template <class Algorithm, class Options>
at::Tensor stepped(at::Device device, const Combination& with, Options options) {
  at::manual_seed(1);
  const std::vector<Slot> slots{{.name = "a", .shape = {kSize}, .offset = 1, .size = 40'003},
                                {.name = "b", .shape = {2, 9}, .offset = 40'007, .size = 30'000},
                                {.name = "c", .shape = {3}, .offset = 70'008, .size = 3}};
  const auto source = std::make_shared<FlatSlots>(
      placed(at::randn({kSize}).to(with.master), device, with.offset), slots);
  if (with.has_copy) source->segment().copy = placed(at::zeros({kSize}, at::kBFloat16), device, 2);
  options.rules = {{.max_dims = 1, .weight_decay = 0.0}};
  options.moments = with.moments;
  Algorithm optimizer(source, options);
  const at::Tensor scale = at::full({}, 0.7, at::TensorOptions(device).dtype(at::kDouble));
  for (int i = 0; i < 4; ++i) {
    source->current_gradient =
        placed(at::randn({kSize}).to(with.gradient), device, with.gradient_offset);
    optimizer.step(1.0 / (i + 1), {.gradient_scale = i % 2 == 0 ? scale : at::Tensor()});
  }
  std::vector<at::Tensor> all{source->segment().master};
  for (const std::string& name : optimizer.state_names()) all.push_back(optimizer.state(name, 0));
  if (with.has_copy) all.push_back(source->segment().copy);
  for (at::Tensor& each : all) each = each.cpu().to(at::kDouble);
  return at::cat(all);
}

template <class Algorithm, class Options>
void expect_the_bits_of_the_cpu(const Combination& with, const Options& options) {
  const at::Tensor expected = stepped<Algorithm>(at::kCPU, with, options);
  const at::Tensor actual = stepped<Algorithm>(at::kCUDA, with, options);
  EXPECT_TRUE(actual.equal(expected))
      << "master " << with.master << ", gradient " << with.gradient << ", moments "
      << enum_name(with.moments) << ", offsets " << with.offset << " and " << with.gradient_offset
      << ": largest difference " << (actual - expected).abs().max().item<double>();
}

std::vector<Combination> all_types() {
  std::vector<Combination> all{{.master = at::kDouble, .gradient = at::kDouble}};
  for (const at::ScalarType master : {at::kFloat, at::kBFloat16}) {
    for (const at::ScalarType gradient : {at::kFloat, at::kBFloat16}) {
      for (const Moments moments : {Moments::fp32, Moments::bf16}) {
        all.push_back({.master = master,
                       .gradient = gradient,
                       .moments = moments,
                       .has_copy = master == at::kFloat});
      }
    }
  }
  return all;
}

TEST_F(OptimizerKernelsOnCuda, GiveTheBitsOfTheCpuForAllTypes) {
  for (const Combination& with : all_types()) {
    expect_the_bits_of_the_cpu<AdamW>(with, AdamWOptions{.learning_rate = 0.01, .beta2 = 0.95});
    expect_the_bits_of_the_cpu<Sgd>(with, SgdOptions{.learning_rate = 0.1});
    expect_the_bits_of_the_cpu<Sgd>(with, SgdOptions{.learning_rate = 0.1, .momentum = 0.9});
  }
}

TEST_F(OptimizerKernelsOnCuda, GiveTheBitsOfTheCpuWhereverMemoryBegins) {
  for (const std::int64_t offset : {0, 1, 2, 3, 5}) {
    for (const std::int64_t gradient_offset : {0, 1, 3, 4}) {
      expect_the_bits_of_the_cpu<AdamW>(
          {.has_copy = true, .offset = offset, .gradient_offset = gradient_offset},
          AdamWOptions{.learning_rate = 0.01});
    }
  }
}

class SquareKernelsOnCuda : public OptimizerKernelsOnCuda {};

/// Tensors of all types and odd sizes, more than one launch takes.
std::vector<at::Tensor> many_tensors() {
  at::manual_seed(2);
  std::vector<at::Tensor> all;
  for (std::int64_t i = 0; i < 150; ++i) {
    const at::ScalarType type = i % 3 == 0 ? at::kFloat : i % 3 == 1 ? at::kBFloat16 : at::kDouble;
    all.push_back(placed(at::randn({1 + i * 131}).to(type), at::kCUDA, i % 4));
  }
  all.push_back(placed(at::randn({9'000'001}), at::kCUDA, 0));
  all.push_back(at::empty({0}, at::TensorOptions(at::kCUDA)));
  return all;
}

TEST_F(SquareKernelsOnCuda, AddUpAllTensors) {
  double expected = 0;
  const std::vector<at::Tensor> all = many_tensors();
  for (const at::Tensor& each : all) {
    expected += each.cpu().to(at::kDouble).square().sum().item<double>();
  }
  // Both add in fp64, in different orders.
  EXPECT_NEAR(sum_of_squares(all).item<double>(), expected, 1e-12 * expected);
}

TEST_F(SquareKernelsOnCuda, GiveTheSameBitsEveryTime) {
  const std::vector<at::Tensor> all = many_tensors();
  const at::Tensor first = sum_of_squares(all);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(sum_of_squares(all).equal(first));
}

TEST_F(SquareKernelsOnCuda, TellWhatIsNotFinite) {
  std::vector<at::Tensor> all = many_tensors();
  all[100].fill_(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(sum_of_squares(all).item<double>()));
}

}  // namespace
}  // namespace sheaf::optim
