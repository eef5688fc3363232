#include "sheaf/module/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <memory>
#include <thread>
#include <utility>

namespace sheaf::module {
namespace {

using ::testing::ElementsAre;

class PassOn final : public Claim {
 public:
  Tensors run(const Tensors& inputs,
              const std::function<Tensors(const Tensors&)>& forward) override {
    return forward(inputs);
  }
};

TEST(Claim, IsOnNoModuleAtFirst) {
  const torch::nn::Linear module(1, 1);
  EXPECT_EQ(claims_on(*module), nullptr);
}

TEST(Claim, IsFoundOnItsModuleAlone) {
  const torch::nn::Linear module(1, 1);
  const torch::nn::Linear other(1, 1);
  const auto own = std::make_shared<PassOn>();
  const auto handle = claim(*module, own);
  EXPECT_THAT(*claims_on(*module), ElementsAre(own));
  EXPECT_EQ(claims_on(*other), nullptr);
}

TEST(Claim, ComesAfterEarlierOnes) {
  const torch::nn::Linear module(1, 1);
  const auto first = std::make_shared<PassOn>();
  const auto second = std::make_shared<PassOn>();
  const auto first_handle = claim(*module, first);
  const auto second_handle = claim(*module, second);
  EXPECT_THAT(*claims_on(*module), ElementsAre(first, second));
}

TEST(Claim, EndsWithItsHandle) {
  const torch::nn::Linear module(1, 1);
  const auto kept = std::make_shared<PassOn>();
  auto gone_handle = claim(*module, std::make_shared<PassOn>());
  auto kept_handle = claim(*module, kept);
  gone_handle = ClaimHandle();
  EXPECT_THAT(*claims_on(*module), ElementsAre(kept));
  kept_handle = ClaimHandle();
  EXPECT_EQ(claims_on(*module), nullptr);
}

TEST(Claim, GoesOnWhenItsHandleMoves) {
  const torch::nn::Linear module(1, 1);
  auto first = claim(*module, std::make_shared<PassOn>());
  const ClaimHandle second(std::move(first));
  first = ClaimHandle();
  EXPECT_NE(claims_on(*module), nullptr);
}

TEST(Claim, StaysInAListThatSomeoneHolds) {
  const torch::nn::Linear module(1, 1);
  const auto own = std::make_shared<PassOn>();
  auto handle = claim(*module, own);
  const auto held = claims_on(*module);
  handle = ClaimHandle();
  EXPECT_THAT(*held, ElementsAre(own));
}

TEST(Claim, EndsWithItsModule) {
  auto module = std::make_shared<torch::nn::LinearImpl>(1, 1);
  // The address of a module that is gone is only a number.
  const torch::nn::Module& address = *module;
  const auto keeps_the_block = std::weak_ptr(module);
  const auto handle = claim(*module, std::make_shared<PassOn>());
  module.reset();
  EXPECT_EQ(claims_on(address), nullptr);
}

TEST(Claim, WorksOnAModuleWithoutOwner) {
  const torch::nn::LinearImpl module(1, 1);
  const auto handle = claim(module, std::make_shared<PassOn>());
  EXPECT_NE(claims_on(module), nullptr);
}

TEST(Claim, MayBeMadeAndEndedByManyThreads) {
  const torch::nn::Linear shared(1, 1);
  const auto work = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto handle = claim(*shared, std::make_shared<PassOn>());
      EXPECT_NE(claims_on(*shared), nullptr);
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(claims_on(*shared), nullptr);
}

}  // namespace
}  // namespace sheaf::module
