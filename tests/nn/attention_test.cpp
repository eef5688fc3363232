#include "sheaf/nn/attention.h"

#include <ATen/Context.h>
#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

Formula own(const AttentionOptions& options) {
  return [=](const Tensors& in) { return attention(in[0], in[1], in[2], options); };
}

at::Tensor weights_of(const at::Tensor& q, const at::Tensor& k, bool causal) {
  const std::int64_t length = q.size(2);
  at::Tensor scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(q.size(3));
  if (causal) {
    scores = scores.masked_fill(at::ones({length, length}, at::kBool).triu(1), -INFINITY);
  }
  return scores.softmax(-1);
}

Formula plain(const AttentionOptions& options) {
  return [=](const Tensors& in) {
    const std::int64_t shared = in[0].size(1) / in[1].size(1);
    const at::Tensor k = in[1].repeat_interleave(shared, 1);
    const at::Tensor v = in[2].repeat_interleave(shared, 1);
    const at::Tensor weights = weights_of(in[0], k, options.causal);
    return at::matmul(dropout(weights, options.dropout, options.random), v);
  };
}

Tensors inputs(std::int64_t key_heads, std::int64_t length, std::int64_t size) {
  at::manual_seed(4);
  return {at::randn({2, 6, length, size}),
          at::randn({2, key_heads, length, size}),
          at::randn({2, key_heads, length, size})};
}

TEST(Attention, IsTheFormulaForAnyLengthAndSize) {
  for (const bool causal : {true, false}) {
    for (const auto& [length, size] :
         {std::array{1, 1}, {5, 3}, {63, 8}, {64, 16}, {65, 16}, {200, 33}}) {
      SCOPED_TRACE(std::to_string(length) + (causal ? " causal" : ""));
      expect_same_in_all_types(
          own({.causal = causal}), plain({.causal = causal}), inputs(6, length, size));
    }
  }
}

TEST(Attention, SharesHeadsOfKeysAndValues) {
  for (const std::int64_t heads : {1, 2, 3}) {
    expect_same_in_all_types(own({}), plain({}), inputs(heads, 70, 16));
  }
}

TEST(Attention, TakesPartsOfOneTensor) {
  const auto split = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      Tensors parts = in[0].split(48, -1);
      for (at::Tensor& part : parts) part = part.reshape({2, 70, 3, 16}).transpose(1, 2);
      return formula(parts).transpose(1, 2).reshape({2, 70, 48});
    };
  };
  expect_same_in_all_types(split(own({})), split(plain({})), {at::randn({2, 70, 144})});
}

TEST(Attention, TakesHeadsThatAreNotDense) {
  const auto turned = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].transpose(2, 3), in[1].expand({2, 6, 9, 4}), in[2]}).transpose(2, 3);
    };
  };
  expect_same_in_all_types(
      turned(own({})),
      turned(plain({})),
      {at::randn({2, 6, 4, 9}), at::randn({2, 1, 9, 4}), at::randn({2, 6, 9, 4})});
}

TEST(Attention, TakesOneQueryWithOddStrides) {
  const auto strided = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].as_strided({2, 3, 1, 4}, {12, 4, 1, 1}), in[1], in[2]});
    };
  };
  const Tensors in{at::randn({24}), at::randn({2, 3, 1, 4}), at::randn({2, 3, 1, 4})};
  const Outcome actual = outcome(strided(own({})), in);
  EXPECT_TRUE(actual.value.equal(in[2]));
  expect_near(actual.gradients[2], outcome(strided(plain({})), in).gradients[2], 1e-6);
}

TEST(Attention, ReturnsRowsThatNeedNoCopy) {
  const Tensors in = inputs(6, 20, 8);
  EXPECT_TRUE(attention(in[0], in[1], in[2], {}).transpose(1, 2).is_contiguous());
}

TEST(Attention, DropsWeightsByTheirPlace) {
  const AttentionOptions options{.dropout = {.probability = 0.3, .layer = 2},
                                 .random = {.seed = 9, .step = 4}};
  expect_same_in_all_types(own(options), plain(options), inputs(2, 17, 8));
}

TEST(Attention, DropsTheSameForAnySplitOfTheBatch) {
  AttentionOptions options{.dropout = {.probability = 0.3, .layer = 2}, .random = {.seed = 9}};
  const Tensors in = inputs(6, 17, 8);
  const at::Tensor whole = attention(in[0], in[1], in[2], options);
  options.random.first_sample = 1;
  const auto second = [](const at::Tensor& x) { return x.narrow(0, 1, 1); };
  const at::Tensor part = attention(second(in[0]), second(in[1]), second(in[2]), options);
  expect_near(part, second(whole), 1e-6);
}

TEST(Attention, TakesAnEmptyBatch) {
  for (const double probability : {0.0, 0.5}) {
    const Outcome result =
        outcome(own({.dropout = {.probability = probability}}),
                {at::randn({0, 6, 9, 4}), at::randn({0, 2, 9, 4}), at::randn({0, 2, 9, 4})});
    EXPECT_EQ(result.value.size(0), 0);
    EXPECT_EQ(result.gradients[1].size(1), 2);
  }
}

TEST(Attention, GivesTheSameBitsOnTwoThreads) {
  const auto on = [&](int count) {
    const Threads threads(count);
    return outcome(own({}), inputs(2, 130, 16));
  };
  const Outcome one = on(1), two = on(2);
  EXPECT_TRUE(one.value.equal(two.value));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(one.gradients[i].equal(two.gradients[i])) << i;
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  const Tensors in = inputs(6, 9, 4);
  const at::Tensor five_heads = at::randn({2, 5, 9, 4});
  EXPECT_THROW((void)attention(in[0], five_heads, five_heads, {}), UsageError);
  EXPECT_THROW((void)attention(in[0][0], in[1][0], in[2][0], {}), UsageError);
  EXPECT_THROW((void)attention(in[0], in[1].narrow(2, 0, 8), in[2], {}), UsageError);
}

TEST(PreferAttentionKernel, MovesItToTheFront) {
  const auto first = [] { return at::globalContext().sDPPriorityOrder().front(); };
  prefer_attention_kernel(AttentionKernel::cudnn, at::kCPU);
  EXPECT_EQ(first(), at::SDPBackend::cudnn_attention);
  prefer_attention_kernel(AttentionKernel::plain, at::kCPU);
  EXPECT_EQ(first(), at::SDPBackend::math);
  prefer_attention_kernel(AttentionKernel::automatic, at::kCPU);
  EXPECT_EQ(first(), at::SDPBackend::math);
}

}  // namespace
}  // namespace sheaf::nn
