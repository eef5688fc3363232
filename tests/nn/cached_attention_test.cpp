#include "sheaf/nn/cached_attention.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cmath>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

constexpr std::int64_t kCapacity = 70;
constexpr std::int64_t kSize = 10;

using Begins = std::vector<std::int64_t>;

struct Case {
  std::int64_t key_heads = 6;
  std::int64_t new_tokens = 1;
  Begins begins;
};

/// Each text and each new token by itself.
at::Tensor plain(const at::Tensor& q,
                 const at::Tensor& keys,
                 const at::Tensor& values,
                 const Begins& begins) {
  const std::int64_t shared = q.size(1) / keys.size(1);
  const at::Tensor k = keys.repeat_interleave(shared, 1), v = values.repeat_interleave(shared, 1);
  at::Tensor result = at::empty_like(q);
  for (std::int64_t text = 0; text < q.size(0); ++text) {
    for (std::int64_t token = 0; token < q.size(2); ++token) {
      const std::int64_t seen = begins.at(static_cast<std::size_t>(text)) + token + 1;
      const at::Tensor query = q[text].narrow(1, token, 1);
      const at::Tensor scores =
          at::matmul(query, k[text].narrow(1, 0, seen).transpose(1, 2)) / std::sqrt(kSize);
      result[text]
          .narrow(1, token, 1)
          .copy_(at::matmul(scores.softmax(-1), v[text].narrow(1, 0, seen)));
    }
  }
  return result;
}

void expect_formula(const Case& tested, at::ScalarType type, double tolerance) {
  at::manual_seed(3);
  const auto texts = static_cast<std::int64_t>(tested.begins.size());
  const at::Tensor q = at::randn({texts, tested.new_tokens, 6, kSize}, type).transpose(1, 2);
  // What is behind the last token is never looked at.
  at::Tensor keys = at::full({texts, tested.key_heads, kCapacity, kSize}, NAN, type);
  at::Tensor values = keys.clone();
  for (std::int64_t text = 0; text < texts; ++text) {
    const auto known = tested.begins.at(static_cast<std::size_t>(text)) + tested.new_tokens;
    keys[text].narrow(1, 0, known).normal_();
    values[text].narrow(1, 0, known).normal_();
  }
  const at::Tensor expected = plain(q, keys, values, tested.begins);
  const at::Tensor actual = cached_attention(q, keys, values, tested.begins);
  EXPECT_TRUE(actual.allclose(expected, tolerance, tolerance));
}

TEST(CachedAttention, LooksAtTheTokensOfEachTextAlone) {
  expect_formula({.begins = {5}}, at::kFloat, 1e-5);
  expect_formula({.begins = {5, 69, 1, 0}}, at::kFloat, 1e-5);
  expect_formula({.begins = {30, 30, 30}}, at::kFloat, 1e-5);
}

TEST(CachedAttention, SharesHeadsOfKeys) {
  for (const std::int64_t heads : {1, 2, 3}) {
    expect_formula({.key_heads = heads, .begins = {5, 69, 1}}, at::kFloat, 1e-5);
  }
}

TEST(CachedAttention, BeginsTexts) {
  expect_formula({.key_heads = 2, .new_tokens = 20, .begins = {0, 0}}, at::kFloat, 1e-5);
}

// Several threads, each with some of the heads.
TEST(CachedAttention, IsTheSameWithThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  expect_formula({.key_heads = 3, .begins = Begins(60, 66)}, at::kFloat, 1e-5);
  at::set_num_threads(before);
}

// Padding of NaN would spoil what a mask hides, so all tokens of the longest text are known.
TEST(CachedAttention, TakesOtherTypesAndSeveralNewTokens) {
  expect_formula({.key_heads = 2, .begins = {9, 9}}, at::kDouble, 1e-12);
  expect_formula({.key_heads = 3, .new_tokens = 4, .begins = {9, 9}}, at::kDouble, 1e-12);
  expect_formula({.key_heads = 3, .new_tokens = 4, .begins = {9, 9}}, at::kFloat, 1e-5);
}

TEST(CachedAttention, HidesWhatShorterTextsDoNotHave) {
  at::manual_seed(5);
  const at::Tensor q = at::randn({2, 6, 3, kSize}, at::kDouble);
  const at::Tensor keys = at::randn({2, 2, kCapacity, kSize}, at::kDouble);
  const at::Tensor values = at::randn_like(keys);
  const Begins begins{7, 40};
  EXPECT_TRUE(
      cached_attention(q, keys, values, begins).allclose(plain(q, keys, values, begins), 1e-12));
}

TEST(CachedAttention, RefusesShapesThatDoNotFit) {
  const at::Tensor q = at::zeros({2, 6, 1, 8});
  const at::Tensor keys = at::zeros({2, 3, 10, 8});
  const auto run = [](const at::Tensor& q, const at::Tensor& keys, const Begins& begins) {
    static_cast<void>(cached_attention(q, keys, keys, begins));
  };
  EXPECT_NO_THROW(run(q, keys, {9, 3}));
  EXPECT_THROW(run(q, keys, {10, 3}), UsageError);
  EXPECT_THROW(run(q, keys, {-1, 3}), UsageError);
  EXPECT_THROW(run(q, keys, {3}), UsageError);
  EXPECT_THROW(run(q, keys.narrow(1, 0, 0), {3, 3}), UsageError);
  EXPECT_THROW(run(q, keys.narrow(3, 0, 7), {3, 3}), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
