// The CUDA kernels against those of the CPU; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>

#include <memory>

#include "optim/flat_slots.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::FlatSlots;

class OptimizersOnCuda : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  }
};
INSTANTIATE_TEST_SUITE_P(Types, OptimizersOnCuda, ::testing::Values(at::kFloat, at::kDouble));

struct Stepped {
  at::Tensor master;
  at::Tensor copy;
};

template <class Algorithm, class Options>
Stepped stepped_on(at::Device device, at::ScalarType type, at::ScalarType copy, Options options) {
  constexpr std::int64_t kSize = 100'003;
  at::manual_seed(1);
  const std::vector<Slot> slots{{.name = "a", .shape = {kSize}, .size = 70'001},
                                {.name = "b", .shape = {2, 9}, .offset = 70'003, .size = 30'000}};
  const auto source = std::make_shared<FlatSlots>(at::randn({kSize}, type).to(device), slots);
  source->segment().copy = at::zeros({kSize}, at::TensorOptions(device).dtype(copy));
  options.rules = {{.max_dims = 1, .weight_decay = 0.0}};
  Algorithm optimizer(source, options);
  for (int i = 0; i < 5; ++i) {
    source->current_gradient = at::randn({kSize}, type).to(device);
    optimizer.step();
  }
  return {source->segment().master.cpu(), source->segment().copy.cpu()};
}

/// See Note [The same bits everywhere].
template <class Algorithm, class Options>
void expect_the_bits_of_the_cpu(at::ScalarType type, const Options& options) {
  for (const auto copy : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble}) {
    const Stepped expected = stepped_on<Algorithm>(at::kCPU, type, copy, options);
    const Stepped actual = stepped_on<Algorithm>(at::kCUDA, type, copy, options);
    EXPECT_TRUE(actual.master.equal(expected.master));
    EXPECT_TRUE(actual.copy.equal(expected.copy)) << copy;
  }
}

TEST_P(OptimizersOnCuda, AdamWGivesTheBitsOfTheCpu) {
  expect_the_bits_of_the_cpu<AdamW>(GetParam(), AdamWOptions{.learning_rate = 0.01});
}

TEST_P(OptimizersOnCuda, AdamGivesTheBitsOfTheCpu) {
  expect_the_bits_of_the_cpu<Adam>(GetParam(), AdamOptions{.weight_decay = 0.1});
}

TEST_P(OptimizersOnCuda, SgdGivesTheBitsOfTheCpu) {
  expect_the_bits_of_the_cpu<Sgd>(GetParam(), SgdOptions{.learning_rate = 0.1});
  expect_the_bits_of_the_cpu<Sgd>(
      GetParam(), SgdOptions{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
}

}  // namespace
}  // namespace sheaf::optim
