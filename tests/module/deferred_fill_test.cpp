#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "module/deferred_seed.h"
#include "sheaf/base/error.h"
#include "sheaf/module/deferred.h"

namespace sheaf::module {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t kSeed = 5;

at::Tensor deferred_normal() {
  return deferred([] { return torch::empty({20, 30}).normal_(1, 2); });
}

at::Tensor filled(const at::Tensor& deferred, std::uint64_t seed, std::string_view name) {
  auto target = torch::full_like(deferred, -1, deferred.options().device(torch::kCPU));
  fill_deferred(deferred, target, seed, name);
  return target;
}

TEST(Mix, IsTheSameEverywhere) {
  EXPECT_EQ(mix(1, "layers.0.weight"), mix(1, "layers.0.weight"));
  EXPECT_NE(mix(1, "layers.0.weight"), mix(2, "layers.0.weight"));
  EXPECT_NE(mix(1, "layers.0.weight"), mix(1, "layers.1.weight"));
}

TEST(Generator, DependsOnTheUpperHalfOfItsKey) {
  const auto low = torch::rand({8}, generator_from(3));
  const auto high = torch::rand({8}, generator_from(3 | std::uint64_t{1} << 63));
  EXPECT_FALSE(low.equal(high));
  EXPECT_TRUE(low.equal(torch::rand({8}, generator_from(3))));
}

TEST(FillDeferred, DependsOnSeedAndNameAlone) {
  const auto values = filled(deferred_normal(), kSeed, "weight");
  deferred_normal();
  EXPECT_TRUE(filled(deferred_normal(), kSeed, "weight").equal(values));
  EXPECT_FALSE(filled(deferred_normal(), kSeed, "other").equal(values));
  EXPECT_FALSE(filled(deferred_normal(), kSeed + 1, "weight").equal(values));
}

TEST(FillDeferred, DoesNotDependOnTheNumberOfThreads) {
  const auto build = [] { return torch::empty({1000, 1000}).normal_(); };
  const auto threads = at::get_num_threads();
  const auto many = filled(deferred(build), kSeed, "weight");
  at::set_num_threads(1);
  const auto one = filled(deferred(build), kSeed, "weight");
  at::set_num_threads(threads);
  EXPECT_TRUE(one.equal(many));
}

TEST(FillDeferred, LeavesTheTensorDeferred) {
  const auto weight = deferred_normal();
  const auto values = filled(weight, kSeed, "weight");
  EXPECT_TRUE(is_deferred(weight));
  EXPECT_TRUE(filled(weight, kSeed, "weight").equal(values));
}

TEST(FillDeferred, FillsAViewOfALargerBuffer) {
  const auto weight = deferred_normal();
  const auto buffer = torch::full({1000}, -1.0);
  fill_deferred(weight, buffer.narrow(0, 100, 600).view({20, 30}), kSeed, "weight");
  EXPECT_TRUE(buffer.narrow(0, 100, 600).view({20, 30}).equal(filled(weight, kSeed, "weight")));
  EXPECT_TRUE(buffer.narrow(0, 0, 100).eq(-1).all().item<bool>());
  EXPECT_TRUE(buffer.narrow(0, 700, 300).eq(-1).all().item<bool>());
}

TEST(FillDeferred, FillsATargetOfAnotherTypeOrGeometry) {
  const auto weight = deferred_normal();
  const auto values = filled(weight, kSeed, "weight");
  const auto wide = torch::empty({20, 30}, torch::kDouble);
  fill_deferred(weight, wide, kSeed, "weight");
  EXPECT_TRUE(wide.equal(values.to(torch::kDouble)));
  const auto turned = torch::empty({30, 20}).t();
  fill_deferred(weight, turned, kSeed, "weight");
  EXPECT_TRUE(turned.equal(values));
}

TEST(FillDeferred, FillsFromATransposedTensor) {
  const auto weight = deferred_normal();
  const auto turned = deferred([&] { return weight.t(); });
  EXPECT_TRUE(filled(turned, kSeed, "w").equal(filled(weight, kSeed, "w").t()));
}

TEST(FillDeferred, RepeatsFillsOfParts) {
  const auto weight = deferred([] {
    auto all = torch::empty({4, 100});
    all.narrow(0, 0, 2).fill_(3);
    all.narrow(1, 50, 50).zero_();
    all[3].normal_();
    return all;
  });
  const auto values = filled(weight, kSeed, "weight");
  EXPECT_TRUE(values.narrow(0, 0, 2).narrow(1, 0, 50).eq(3).all().item<bool>());
  EXPECT_TRUE(values.narrow(0, 0, 3).narrow(1, 50, 50).eq(0).all().item<bool>());
  EXPECT_NEAR(values[3].std().item<double>(), 1, 0.3);
}

TEST(FillDeferred, KeepsWhatWasWrittenBeforeAFillOfAPart) {
  const auto weight = deferred([] {
    auto all = torch::arange(10, torch::kFloat).clone();
    auto copy = torch::empty({10});
    copy.copy_(all);
    copy.narrow(0, 5, 5).uniform_(20, 21);
    return copy;
  });
  EXPECT_TRUE(is_deferred(weight));
  const auto values = filled(weight, kSeed, "weight");
  EXPECT_TRUE(values.narrow(0, 0, 5).equal(torch::arange(5, torch::kFloat)));
  EXPECT_TRUE(values.narrow(0, 5, 5).ge(20).all().item<bool>());
}

TEST(FillDeferred, KeepsWhatWasWrittenThroughADataPointer) {
  const auto weight = deferred([] {
    auto all = torch::empty({1 << 20});
    std::fill_n(all.data_ptr<float>(), all.numel(), 2.F);
    all.narrow(0, 0, 1 << 19).zero_();
    return all;
  });
  EXPECT_TRUE(is_deferred(weight));
  EXPECT_EQ(filled(weight, kSeed, "weight").sum().item<double>(), 1 << 20);
}

TEST(FillDeferred, ForgetsFillsThatWereOverwritten) {
  const auto twice = deferred([] { return torch::randn({20, 30}).zero_().normal_(1, 2); });
  EXPECT_TRUE(filled(twice, kSeed, "w").equal(filled(deferred_normal(), kSeed, "w")));
}

TEST(FillDeferred, RepeatsChanges) {
  const auto uniform = deferred([] { return torch::rand({1000}); });
  const auto changed = deferred([] {
    return torch::rand({1000}).mul_(2).sub_(1).mul_(0.99).erfinv_().clamp_(-2, 2).add_(
        torch::ones({}));
  });
  const auto plain = filled(uniform, kSeed, "w");
  const auto expected = plain.mul(2).sub(1).mul(0.99).erfinv().clamp(-2, 2).add(1);
  EXPECT_TRUE(filled(changed, kSeed, "w").equal(expected));
}

TEST(FillDeferred, KeepsTheNumberAFillWasGiven) {
  const auto weight = deferred([] {
    auto number = torch::full({}, 2.0);
    auto all = torch::empty({1 << 20}).fill_(number);
    number.fill_(9);
    return all;
  });
  EXPECT_EQ(filled(weight, kSeed, "weight").max().item<double>(), 2);
}

TEST(FillDeferred, GivesZerosForWhatWasNeverFilled) {
  const auto weight = deferred([] { return torch::empty({1000, 1000}); });
  EXPECT_TRUE(filled(weight, kSeed, "weight").eq(0).all().item<bool>());
}

TEST(FillDeferred, CopiesATensorThatIsNotDeferred) {
  const auto positions = deferred([] { return torch::arange(100); });
  EXPECT_TRUE(filled(positions, kSeed, "positions").equal(torch::arange(100)));
}

TEST(FillDeferred, RefusesATargetOfAnotherShape) {
  EXPECT_THAT(
      [] {
        fill_deferred(deferred_normal(), torch::empty({30, 20}), kSeed, "w");
      },
      ThrowsMessage<UsageError>(HasSubstr("its own shape, [20, 30], got [30, 20]")));
}

TEST(FillDeferred, GivesTheSameNumbersOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto weight = deferred_normal();
  const auto target = torch::empty({20, 30}, torch::kCUDA);
  fill_deferred(weight, target, kSeed, "weight");
  EXPECT_TRUE(target.cpu().equal(filled(weight, kSeed, "weight")));
}

}  // namespace
}  // namespace sheaf::module
