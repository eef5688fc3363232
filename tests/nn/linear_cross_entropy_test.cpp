#include "sheaf/nn/linear_cross_entropy.h"

#include <gmock/gmock.h>
#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using Options = LinearCrossEntropyOptions;

Formula own(const at::Tensor& targets, const Options& options = {}) {
  return [=](const Tensors& in) { return linear_cross_entropy(in[0], in[1], targets, options); };
}

Formula plain(const at::Tensor& targets, std::int64_t vocabulary) {
  return [=](const Tensors& in) {
    const at::Tensor logits = at::matmul(in[0], in[1].narrow(0, 0, vocabulary).t());
    return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, kIgnoredTarget);
  };
}

struct Case {
  std::int64_t rows, width, vocabulary;

  [[nodiscard]] Tensors inputs(std::int64_t padding = 0) const {
    at::manual_seed(5);
    return {at::randn({rows, width}), at::randn({vocabulary + padding, width})};
  }

  [[nodiscard]] at::Tensor targets() const {
    return at::arange(rows, at::kLong).mul_(7919).remainder_(vocabulary);
  }
};

TEST(LinearCrossEntropy, IsTheSumOfTheLossesInAllTypes) {
  for (const Case& each : {Case{5, 8, 11}, {1, 3, 1}, {70, 33, 1001}, {130, 16, 40}}) {
    SCOPED_TRACE(std::to_string(each.rows) + " rows");
    const at::Tensor targets = each.targets();
    expect_same_in_all_types(own(targets), plain(targets, each.vocabulary), each.inputs());
  }
}

TEST(LinearCrossEntropy, DoesNotDependOnTheSizeOfChunks) {
  const Case all{97, 24, 513};
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Outcome whole = outcome(own(all.targets(), {.chunk_rows = 97}), all.inputs(), type);
    for (const std::int64_t rows : {1, 2, 31, 96, 1000}) {
      SCOPED_TRACE(std::to_string(rows) + " rows a chunk");
      const Outcome cut = outcome(own(all.targets(), {.chunk_rows = rows}), all.inputs(), type);
      expect_near(cut.value, whole.value, 1e-7);
      expect_near(cut, whole, 2e-6);
    }
  }
}

TEST(LinearCrossEntropy, AddsUpSmallTypesWell) {
  const Case all{512, 16, 20};
  Tensors in = all.inputs();
  for (at::Tensor& each : in) each = each.to(at::kBFloat16);
  const Outcome exact = outcome(plain(all.targets(), 20), in, at::kDouble);
  const Outcome chunks = outcome(own(all.targets(), {.chunk_rows = 2}), in, at::kBFloat16);
  expect_near(chunks.gradients[1], exact.gradients[1], 1e-2);
  EXPECT_EQ(chunks.value.scalar_type(), at::kFloat);
}

TEST(LinearCrossEntropy, LeavesOutIgnoredTargets) {
  const Case all{40, 8, 30};
  const at::Tensor targets = all.targets();
  targets.slice(0, 0, 40, 3).fill_(kIgnoredTarget);
  expect_same_in_all_types(own(targets, {.chunk_rows = 7}), plain(targets, 30), all.inputs());
}

TEST(LinearCrossEntropy, GivesZeroWhereAllTargetsAreIgnored) {
  const Case all{6, 8, 30};
  const Outcome result = outcome(own(at::full({6}, kIgnoredTarget)), all.inputs());
  EXPECT_EQ(result.value.item<double>(), 0);
  EXPECT_TRUE(result.gradients[0].equal(at::zeros({6, 8})));
  EXPECT_TRUE(result.gradients[1].equal(at::zeros({30, 8})));
}

TEST(LinearCrossEntropy, NeverPredictsPadding) {
  const Case all{40, 8, 30};
  const Tensors in = all.inputs(/*padding=*/34);
  const Formula formula = own(all.targets(), {.vocabulary = 30, .chunk_rows = 16});
  expect_same_in_all_types(formula, plain(all.targets(), 30), in);
  EXPECT_TRUE(outcome(formula, in).gradients[1].narrow(0, 30, 34).equal(at::zeros({34, 8})));
}

TEST(LinearCrossEntropy, GivesZeroForNoRows) {
  const Case none{0, 8, 30};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const Outcome result = outcome(own(none.targets()), none.inputs(), type);
    EXPECT_EQ(result.value.item<double>(), 0);
    EXPECT_EQ(result.gradients[0].sizes(), (std::vector<std::int64_t>{0, 8}));
    EXPECT_EQ(result.gradients[1].abs().sum().item<double>(), 0);
  }
}

TEST(LinearCrossEntropy, TakesViewsOfOtherTensors) {
  const Case all{12, 8, 30};
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) { return formula({in[0].t(), in[1].narrow(1, 2, 8)}); };
  };
  const at::Tensor targets = all.targets().repeat_interleave(2).slice(0, 0, 24, 2);
  expect_same_in_all_types(
      viewed(own(targets)), viewed(plain(targets, 30)), {at::randn({8, 12}), at::randn({30, 12})});
}

TEST(LinearCrossEntropy, StaysFiniteWithHugeLogits) {
  const at::Tensor hidden = at::tensor({300.0F, -300.0F}).unsqueeze(1);
  const at::Tensor weight = at::tensor({1.0F, -1.0F, 0.5F}).unsqueeze(1);
  const at::Tensor targets = at::tensor({0, 0}, at::kLong);
  const Outcome result = outcome(own(targets), {hidden, weight});
  EXPECT_FLOAT_EQ(result.value.item<float>(), 600);
  EXPECT_TRUE(result.gradients[1].isfinite().all().item<bool>());
}

TEST(LinearCrossEntropy, IsNotANumberIfALogitIsNone) {
  const Case all{3, 8, 100};
  Tensors in = all.inputs();
  in[1][57][3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(linear_cross_entropy(in[0], in[1], all.targets()).isnan().item<bool>());
}

TEST(LinearCrossEntropy, GivesGradientsOnlyToWhatWantsThem) {
  const Case all{20, 8, 30};
  const Outcome both = outcome(plain(all.targets(), 30), all.inputs());
  for (int wanting = 0; wanting < 2; ++wanting) {
    Tensors in = all.inputs();
    in[wanting].requires_grad_();
    (linear_cross_entropy(in[0], in[1], all.targets()) * std::cos(-1.0)).backward();
    expect_near(in[wanting].grad(), both.gradients[wanting], 2e-6);
    EXPECT_FALSE(in[1 - wanting].grad().defined());
  }
}

TEST(LinearCrossEntropy, IsTheSameWithoutGradients) {
  const Case all{20, 8, 30};
  Tensors in = all.inputs();
  const at::Tensor with = outcome(own(all.targets()), in).value;
  const at::NoGradGuard no_grad;
  in[0].requires_grad_();
  const at::Tensor without = linear_cross_entropy(in[0], in[1], all.targets());
  EXPECT_FALSE(without.requires_grad());
  EXPECT_TRUE(with.equal(without));
}

TEST(LinearCrossEntropy, CanGoBackTwice) {
  const Case all{20, 8, 30};
  Tensors in = all.inputs();
  in[1].requires_grad_();
  const at::Tensor loss = linear_cross_entropy(in[0], in[1], all.targets()) * 3;
  loss.backward({}, /*retain_graph=*/true);
  const at::Tensor once = in[1].grad().clone();
  in[1].mutable_grad() = at::Tensor();
  loss.backward();
  EXPECT_TRUE(in[1].grad().equal(once));
}

TEST(LinearCrossEntropy, GivesTheSameBitsOnTwoThreads) {
  const Case all{67, 16, 300};
  const auto on = [&](int count) {
    const Threads threads(count);
    return linear_cross_entropy(all.inputs()[0], all.inputs()[1], all.targets());
  };
  EXPECT_TRUE(on(1).equal(on(2)));
}

TEST(LinearCrossEntropy, NamesATargetThatIsNoToken) {
  const Case all{6, 8, 30};
  const Tensors in = all.inputs(/*padding=*/2);
  for (const std::int64_t wrong : {-1, -101, 30, 31, 1000}) {
    const at::Tensor targets = all.targets();
    targets[4] = wrong;
    EXPECT_THAT([&] { (void)linear_cross_entropy(in[0], in[1], targets, {.vocabulary = 30}); },
                ::testing::ThrowsMessage<UsageError>(
                    ::testing::HasSubstr("target " + std::to_string(wrong) + " of row 4")));
  }
}

TEST(LinearCrossEntropy, RefusesShapesThatDoNotFit) {
  const Case all{6, 8, 30};
  const Tensors in = all.inputs();
  const at::Tensor targets = all.targets();
  EXPECT_THROW((void)linear_cross_entropy(in[0], in[1].narrow(1, 0, 7), targets), UsageError);
  EXPECT_THROW((void)linear_cross_entropy(in[0], in[1], targets.narrow(0, 0, 5)), UsageError);
  EXPECT_THROW((void)linear_cross_entropy(in[0], in[1], targets.to(at::kInt)), UsageError);
  EXPECT_THROW((void)linear_cross_entropy(in[0], in[1], targets, {.vocabulary = 31}), UsageError);
}

TEST(LinearCrossEntropy, DoesNotRoundTheScaleToTheModelsType) {
  const at::Tensor hidden = at::randn({32, 16}), weight = at::randn({20, 16});
  const at::Tensor targets = at::randint(20, {32}, at::kLong);
  const double scale = 1.0 / 8150;
  const auto weight_gradient = [&](double factor) {
    const at::Tensor leaf = weight.to(at::kBFloat16).requires_grad_();
    (linear_cross_entropy(hidden.to(at::kBFloat16), leaf, targets) * factor).backward();
    return leaf.grad().to(at::kDouble);
  };
  // Rounded to bf16, the scale would be off by 0.02 % or more, on all elements alike; the elements'
  // own rounding goes both ways.
  const at::Tensor expected = weight_gradient(1) * scale;
  const at::Tensor factor = (weight_gradient(scale) * expected).sum() / expected.square().sum();
  const double rounded = at::scalar_tensor(scale, at::kBFloat16).item<double>() / scale;
  EXPECT_LT(std::abs(factor.item<double>() - 1), 0.5 * std::abs(rounded - 1));
}

TEST(LinearCrossEntropy, SumsBeyondTheRangeOfHalfPrecision) {
  const std::int64_t rows = 4096;
  const at::Tensor hidden = at::full({rows, 8}, 30.0, at::kHalf);
  const at::Tensor weight = at::zeros({4, 8}, at::kHalf).requires_grad_();
  const at::Tensor targets = at::zeros({rows}, at::kLong);
  (linear_cross_entropy(hidden, weight, targets) * (1.0 / rows)).backward();
  // Each row adds 30 (1/4 - 1): far beyond 65504 in all, and -22.5 on average.
  EXPECT_TRUE(at::allclose(weight.grad()[0], at::full({8}, -22.5, at::kHalf)));
}

TEST(LinearCrossEntropy, RefusesTensorsOfSeveralDevices) {
  const at::Tensor meta = at::empty({3}, at::TensorOptions(at::kMeta).dtype(at::kLong));
  EXPECT_THROW(static_cast<void>(linear_cross_entropy(at::randn({3, 4}), at::randn({5, 4}), meta)),
               UsageError);
}

}  // namespace
}  // namespace sheaf::nn
