// Operators that meet deferred tensors, inside and outside of the scope.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <sstream>
#include <thread>

#include "sheaf/module/deferred.h"

namespace sheaf::module {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kMany = 10'000;
constexpr double kClose = 0.05;

at::Tensor ones_to_be() { return torch::ones({1 << 20}); }

TEST(DeferredOperators, ReadValuesInsideTheScope) {
  const DeferredConstruction scope;
  const auto weight = torch::empty({kMany}).normal_(3, 0.1);
  EXPECT_NEAR(weight.mean().item<double>(), 3, kClose);
  EXPECT_FALSE(is_deferred(weight));
}

TEST(DeferredOperators, ReadValuesOutsideTheScope) {
  const auto weight = deferred([] { return torch::empty({kMany}).normal_(3, 0.1); });
  EXPECT_TRUE(is_deferred(weight));
  EXPECT_NEAR(weight.mean().item<double>(), 3, kClose);
  EXPECT_FALSE(is_deferred(weight));
}

TEST(DeferredOperators, ReadTheSameValuesInEveryBuild) {
  const auto build = [] { return torch::randn({100}); };
  EXPECT_TRUE(deferred(build).equal(deferred(build)));
}

TEST(DeferredOperators, ReadOtherValuesFromEachTensor) {
  const auto [one, two] =
      deferred([] { return std::pair(torch::randn({100}), torch::randn({100})); });
  EXPECT_FALSE(one.equal(two));
}

TEST(DeferredOperators, ReadThroughViewsMadeBefore) {
  const auto weight = deferred(ones_to_be);
  const auto view = weight.view({1024, 1024}).t().narrow(0, 3, 5);
  EXPECT_TRUE(is_deferred(view));
  EXPECT_EQ(view.sum().item<double>(), 5 * 1024);
  EXPECT_FALSE(is_deferred(weight));
}

TEST(DeferredOperators, ReadListsOfTensors) {
  const auto weight = deferred(ones_to_be);
  EXPECT_EQ(torch::cat({weight, weight}).sum().item<double>(), 2 << 20);
}

TEST(DeferredOperators, ReadWhereACopyIsNeeded) {
  const auto weight = deferred([] { return torch::full({1024, 512}, 2.0); });
  EXPECT_EQ(weight.t().contiguous().sum().item<double>(), 1 << 20);
  const auto other = deferred([] { return torch::full({1024, 512}, 2.0); });
  EXPECT_EQ(other.t().reshape({-1}).sum().item<double>(), 1 << 20);
}

TEST(DeferredOperators, ReadOnManyThreadsAtOnce) {
  const auto weight = deferred(ones_to_be);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back(
        [view = weight.view({2, -1})] { EXPECT_EQ(view.sum().item<double>(), 1 << 20); });
  }
  for (auto& reader : readers) reader.join();
}

TEST(DeferredOperators, WriteAfterWhatWasWrittenDown) {
  const auto weight = deferred(ones_to_be);
  weight.narrow(0, 0, 10).fill_(5);
  EXPECT_FALSE(is_deferred(weight));
  EXPECT_EQ(weight.sum().item<double>(), (1 << 20) + 40);
}

TEST(DeferredOperators, SeeGradientsOfAModelThatNobodyMaterialized) {
  auto model = deferred([] { return nn::Linear(64, 32); });
  model->forward(torch::ones({2, 64})).sum().backward();
  EXPECT_TRUE(model->weight.grad().eq(2).all().item<bool>());
  EXPECT_NEAR(model->weight.std().item<double>(), 0.125 / std::sqrt(3.0), 0.01);
}

TEST(DeferredOperators, RefuseToFillALeafThatNeedsAGradient) {
  const DeferredConstruction scope;
  auto weight = torch::randn({10}, torch::requires_grad());
  EXPECT_THROW(weight.normal_(), c10::Error);
}

TEST(DeferredOperators, RefuseWrongArgumentsWhereTheyAreGiven) {
  const DeferredConstruction scope;
  EXPECT_THROW(torch::empty({10}).normal_(0, -1), c10::Error);
  EXPECT_THROW(torch::empty({10}).uniform_(1, 0), c10::Error);
}

TEST(DeferredOperators, UseAGeneratorThatIsGiven) {
  const auto build = [] {
    return torch::empty({10}).normal_(0, 1, at::make_generator<at::CPUGeneratorImpl>(3));
  };
  EXPECT_TRUE(deferred(build).equal(build()));
}

TEST(DeferredOperators, AreDoneAtOnceForSmallConstants) {
  const DeferredConstruction scope;
  auto table = torch::zeros({16, 16});
  table.accessor<float, 2>()[3][4] = 2;
  EXPECT_EQ(table.sum().item<double>(), 2);
}

TEST(DeferredOperators, CountAsChangesForAutograd) {
  const DeferredConstruction scope;
  auto weight = torch::empty({10});
  const auto before = weight._version();
  weight.normal_();
  EXPECT_GT(weight._version(), before);
}

TEST(DeferredOperators, CopyWithTheSameNumbers) {
  const auto [one, two] = deferred([] {
    auto original = torch::randn({100});
    return std::pair(original, original * 2);
  });
  EXPECT_TRUE(is_deferred(two));
  EXPECT_TRUE(two.equal(one * 2));
}

TEST(DeferredOperators, CopyWithTheNumbersThatWereRead) {
  const auto [one, two] = deferred([] {
    auto original = torch::randn({100});
    auto copy = original.clone();
    (void)original.sum();
    return std::pair(original, copy);
  });
  auto values = torch::empty({100});
  fill_deferred(two, values, 1, "copy");
  EXPECT_TRUE(values.equal(one));
}

TEST(DeferredOperators, PrintValues) {
  const auto weight = deferred([] { return torch::full({600, 600}, 4.0); });
  std::ostringstream text;
  text << weight.narrow(0, 0, 1).narrow(1, 0, 2);
  EXPECT_THAT(text.str(), ::testing::HasSubstr("4"));
}

TEST(DeferredOperators, FillElementByElementWithoutEnd) {
  const auto table = deferred([] {
    auto all = torch::empty({6000, 20});
    for (std::int64_t i = 0; i < all.size(0); ++i) all[i].fill_(i);
    return all;
  });
  EXPECT_EQ(table.select(1, 7).sum().item<double>(), 6000.0 * 5999 / 2);
}

TEST(DeferredOperators, KeepEmptyTensorsEmpty) {
  const auto nothing = deferred([] { return torch::randn({0, 3}); });
  EXPECT_FALSE(is_deferred(nothing));
  EXPECT_EQ(nothing.sum().item<double>(), 0);
}

TEST(DeferredOperators, KeepTheTypeAndStridesThatWereAskedFor) {
  const auto options = torch::dtype(torch::kDouble).requires_grad(true);
  const auto weight = deferred([&] {
    return torch::randn_like(torch::empty({2, 3, 4, 5}).permute({0, 3, 1, 2}), options);
  });
  EXPECT_TRUE(is_deferred(weight));
  EXPECT_EQ(weight.dtype(), torch::kDouble);
  EXPECT_EQ(weight.strides(), torch::empty({2, 3, 4, 5}).permute({0, 3, 1, 2}).strides());
  EXPECT_TRUE(weight.requires_grad());
}

}  // namespace
}  // namespace sheaf::module
