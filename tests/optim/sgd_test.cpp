#include "sheaf/optim/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/torch_parity.h"
#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::expect_parity;

class SgdParity : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, SgdParity, ::testing::Values(at::kFloat, at::kDouble));

TEST_P(SgdParity, StepsAsTorchDoesWithoutMomentum) {
  expect_parity<Sgd, torch::optim::SGD>(GetParam(),
                                        SgdOptions{.learning_rate = 0.05, .weight_decay = 0.1},
                                        torch::optim::SGDOptions(0.05).weight_decay(0.1));
}

TEST_P(SgdParity, StepsAsTorchDoesWithMomentumAndDampening) {
  expect_parity<Sgd, torch::optim::SGD>(
      GetParam(),
      SgdOptions{.learning_rate = 0.05, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1},
      torch::optim::SGDOptions(0.05).momentum(0.9).dampening(0.3).weight_decay(0.1));
}

TEST_P(SgdParity, StepsAsTorchDoesWithNesterov) {
  expect_parity<Sgd, torch::optim::SGD>(
      GetParam(),
      SgdOptions{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true},
      torch::optim::SGDOptions(0.05).momentum(0.9).nesterov(true));
}

TEST(Sgd, KeepsNoStateWithoutMomentum) {
  Sgd optimizer(plain_slots({{"p", at::ones({2})}}));
  EXPECT_TRUE(optimizer.state_names().empty());
  EXPECT_EQ(error_of([&] { (void)optimizer.state("momentum_buffer", 0); }),
            "the optimizer's states are none, not 'momentum_buffer'");
}

TEST(Sgd, RefusesOptionsThatCannotBe) {
  const auto error_with = [](const SgdOptions& options) {
    return error_of([&] { Sgd(plain_slots({{"p", at::ones({2})}}), options); });
  };
  EXPECT_EQ(error_with({.momentum = -0.9}), "momentum of SGD must be at least 0, got -0.9");
  EXPECT_EQ(error_with({.nesterov = true}),
            "nesterov of SGD needs momentum and no dampening, got momentum 0 and dampening 0");
  EXPECT_EQ(error_with({.momentum = 0.9, .dampening = 0.5, .nesterov = true}),
            "nesterov of SGD needs momentum and no dampening, got momentum 0.9 and dampening 0.5");
}

TEST(Sgd, DescribesItsOptions) {
  SgdOptions options;
  auto fields = fields_of(options);
  find_field(fields, "momentum")->set("0.9");
  find_field(fields, "nesterov")->set("true");
  EXPECT_EQ(options.momentum, 0.9);
  EXPECT_TRUE(options.nesterov);
}

}  // namespace
}  // namespace sheaf::optim
