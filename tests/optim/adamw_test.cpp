#include "sheaf/optim/adamw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/torch_parity.h"
#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::expect_parity;

class AdamParity : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, AdamParity, ::testing::Values(at::kFloat, at::kDouble));

TEST_P(AdamParity, AdamWStepsAsTorchDoesWithDefaults) {
  expect_parity<AdamW, torch::optim::AdamW>(
      GetParam(), AdamWOptions{}, torch::optim::AdamWOptions());
}

TEST_P(AdamParity, AdamWStepsAsTorchDoesWithOtherOptions) {
  using Betas = std::tuple<double, double>;
  expect_parity<AdamW, torch::optim::AdamW>(
      GetParam(),
      AdamWOptions{
          .learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.3},
      torch::optim::AdamWOptions(0.02).betas(Betas(0.8, 0.95)).eps(1e-6).weight_decay(0.3));
}

TEST_P(AdamParity, AdamStepsAsTorchDoesWithDefaults) {
  expect_parity<Adam, torch::optim::Adam>(GetParam(), AdamOptions{}, torch::optim::AdamOptions());
}

TEST_P(AdamParity, AdamPutsWeightDecayInTheGradientAsTorchDoes) {
  expect_parity<Adam, torch::optim::Adam>(GetParam(),
                                          AdamOptions{.learning_rate = 0.02, .weight_decay = 0.3},
                                          torch::optim::AdamOptions(0.02).weight_decay(0.3));
}

TEST(AdamW, HasTheDefaultsOfTorch) {
  const AdamWOptions ours;
  const torch::optim::AdamWOptions theirs;
  EXPECT_EQ(ours.learning_rate, theirs.lr());
  EXPECT_EQ(std::tuple(ours.beta1, ours.beta2), theirs.betas());
  EXPECT_EQ(ours.epsilon, theirs.eps());
  EXPECT_EQ(ours.weight_decay, theirs.weight_decay());
  EXPECT_EQ(AdamOptions().weight_decay, torch::optim::AdamOptions().weight_decay());
}

TEST(AdamW, NamesItsStatesAsTorchDoes) {
  AdamW optimizer(plain_slots({{"p", at::ones({2})}}));
  EXPECT_THAT(optimizer.state_names(), ::testing::ElementsAre("exp_avg", "exp_avg_sq"));
}

TEST(AdamW, RefusesOptionsThatCannotBe) {
  const auto error_with = [](const AdamWOptions& options) {
    return error_of([&] { AdamW(plain_slots({{"p", at::ones({2})}}), options); });
  };
  EXPECT_EQ(error_with({.learning_rate = -1}), "learning_rate of AdamW must be at least 0, got -1");
  EXPECT_EQ(error_with({.beta1 = 1}), "beta1 of AdamW must be at least 0 and less than 1, got 1");
  EXPECT_EQ(error_with({.beta2 = -0.1}),
            "beta2 of AdamW must be at least 0 and less than 1, got -0.1");
  EXPECT_EQ(error_with({.epsilon = -1e-8}), "epsilon of AdamW must be at least 0, got -1e-08");
  EXPECT_EQ(error_with({.weight_decay = std::nan("")}),
            "weight_decay of AdamW must be at least 0, got nan");
}

TEST(AdamW, DescribesItsOptions) {
  AdamWOptions options;
  auto fields = fields_of(options);
  find_field(fields, "learning_rate")->set("3e-4");
  find_field(fields, "beta2")->set("0.95");
  EXPECT_EQ(options.learning_rate, 3e-4);
  EXPECT_EQ(options.beta2, 0.95);
  EXPECT_EQ(error_of([&] { find_field(fields, "weight_decay")->set("-1"); }),
            "weight_decay: must be at least 0, got -1");
}

}  // namespace
}  // namespace sheaf::optim
