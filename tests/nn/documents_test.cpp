#include "sheaf/nn/documents.h"

#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/attention.h"
#include "sheaf/nn/rotary.h"
#include "support/document_positions.h"

namespace sheaf::nn {
namespace {

using testing::document_positions;

Formula own(const AttentionOptions& options) {
  return [=](const Tensors& in) { return attention(in[0], in[1], in[2], options); };
}

/// All scores, and a token sees another if both have the same beginning of their document.
Formula plain(const AttentionOptions& options) {
  return [=](const Tensors& in) {
    const std::int64_t length = in[0].size(2), shared = in[0].size(1) / in[1].size(1);
    const at::Tensor k = in[1].repeat_interleave(shared, 1), v = in[2].repeat_interleave(shared, 1);
    const at::Tensor firsts = at::arange(length) - options.documents.positions;
    at::Tensor hidden = firsts.view({-1, 1, length, 1}) != firsts.view({-1, 1, 1, length});
    if (options.causal) hidden = hidden | at::ones({length, length}, at::kBool).triu(1);
    const at::Tensor scores = at::matmul(in[0], k.transpose(-1, -2)) / std::sqrt(in[0].size(3));
    const at::Tensor weights = scores.masked_fill(hidden, -INFINITY).softmax(-1);
    return at::matmul(dropout(weights, options.dropout, options.random), v);
  };
}

Tensors inputs(std::int64_t key_heads, std::int64_t length) {
  at::manual_seed(4);
  return {at::randn({2, 6, length, 8}),
          at::randn({2, key_heads, length, 8}),
          at::randn({2, key_heads, length, 8})};
}

TEST(AttentionOfDocuments, IsTheFormulaWhateverTheirLengths) {
  const std::vector<at::Tensor> cuts{document_positions({{150}, {1, 1, 148}}),
                                     document_positions({{64, 64, 22}, {65, 63, 21, 1}}),
                                     document_positions({{7, 130, 13}, {149, 1}})};
  for (const bool causal : {true, false}) {
    for (const at::Tensor& positions : cuts) {
      const AttentionOptions options{.causal = causal, .documents = {.positions = positions}};
      expect_same_in_all_types(own(options), plain(options), inputs(6, 150));
    }
  }
}

TEST(AttentionOfDocuments, SharesHeadsOfKeysAndValues) {
  const AttentionOptions options{
      .documents = {.positions = document_positions({{3, 67}, {30, 1, 39}})}};
  for (const std::int64_t heads : {1, 2, 3}) {
    expect_same_in_all_types(own(options), plain(options), inputs(heads, 70));
  }
}

TEST(AttentionOfDocuments, DropsWeightsByTheirPlaceInTheText) {
  const AttentionOptions options{.dropout = {.probability = 0.3, .layer = 2},
                                 .random = {.seed = 9, .step = 4},
                                 .documents = {.positions = document_positions({{3, 14}, {9, 8}})}};
  expect_same_in_all_types(own(options), plain(options), inputs(2, 17));
}

TEST(AttentionOfDocuments, TakesAMaskThatWasMadeAhead) {
  const at::Tensor positions = document_positions({{3, 14}, {9, 8}});
  const AttentionOptions bare{.documents = {.positions = positions}};
  const Formula with_mask = [&](const Tensors& in) {
    const Documents documents{
        .positions = positions,
        .causal_mask = document_mask(positions, /*causal=*/true, in[0].scalar_type())};
    return attention(in[0], in[1], in[2], {.documents = documents});
  };
  expect_same_in_all_types(with_mask, plain(bare), inputs(2, 17));
}

// A mask would not do: 0 times no number is no number.
TEST(AttentionOfDocuments, NeverLooksAtAnotherOnCpus) {
  const AttentionOptions options{
      .documents = {.positions = document_positions({{70, 30}, {70, 30}})}};
  Tensors in = inputs(2, 100);
  const Outcome expected = outcome(own(options), in);
  for (at::Tensor& input : in) input.narrow(2, 0, 70).fill_(NAN);
  const Outcome actual = outcome(own(options), in);
  const auto second = [](const at::Tensor& x) { return x.narrow(2, 70, 30); };
  EXPECT_TRUE(second(actual.value).equal(second(expected.value)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(second(actual.gradients[i]).equal(second(expected.gradients[i]))) << i;
  }
}

TEST(AttentionOfDocuments, GivesTheSameBitsOnTwoThreads) {
  const AttentionOptions options{
      .documents = {.positions = document_positions({{100, 30}, {1, 129}})}};
  const auto on = [&](int count) {
    const Threads threads(count);
    return outcome(own(options), inputs(2, 130));
  };
  const Outcome one = on(1), two = on(2);
  EXPECT_TRUE(one.value.equal(two.value));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(one.gradients[i].equal(two.gradients[i])) << i;
}

TEST(AttentionOfDocuments, TakesAnEmptyBatch) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const double probability : {0.0, 0.5}) {
      const AttentionOptions options{.dropout = {.probability = probability},
                                     .documents = {.positions = at::empty({0, 9}, at::kLong)}};
      const Outcome result =
          outcome(own(options),
                  {at::randn({0, 6, 9, 4}), at::randn({0, 2, 9, 4}), at::randn({0, 2, 9, 4})},
                  type);
      EXPECT_EQ(result.value.size(0), 0);
      EXPECT_EQ(result.gradients[1].size(1), 2);
    }
  }
}

TEST(AttentionOfDocuments, RefusesPositionsOfOtherTexts) {
  const Tensors in = inputs(6, 9);
  for (const at::Tensor& wrong : {document_positions({{9}}),
                                  document_positions({{8}, {8}}),
                                  document_positions({{9}, {9}}).to(at::kInt),
                                  at::arange(9)}) {
    EXPECT_THROW((void)attention(in[0], in[1], in[2], {.documents = {.positions = wrong}}),
                 UsageError);
  }
}

TEST(DocumentsFor, MakeAMaskOnlyWhereItIsNeeded) {
  const at::Tensor positions = document_positions({{2, 3}});
  EXPECT_FALSE(documents_for(at::Tensor(), at::randn({1, 5, 4})).defined());
  EXPECT_FALSE(documents_for(positions, at::randn({1, 5, 4})).causal_mask.defined());
  const at::Tensor mask = documents_for(positions, at::randn({1, 5, 4}, at::kDouble)).causal_mask;
  EXPECT_EQ(mask.scalar_type(), at::kDouble);
  const at::Tensor seen = (mask[0][0] == 0).to(at::kInt);
  EXPECT_TRUE(seen.equal(
      at::tensor({1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1},
                 at::kInt)
          .view({5, 5})));
}

TEST(RowsAt, TurnsEachTokenByItsPlaceInItsDocument) {
  const RotaryTable table = make_rotary_table({.head_size = 8, .num_positions = 40}, at::kCPU);
  const at::Tensor x = at::randn({2, 3, 17, 8});
  const at::Tensor turned = rotate(x, rows_at(table, document_positions({{5, 12}, {17}})));
  EXPECT_TRUE(turned[0].narrow(1, 0, 5).equal(rotate(x[0].narrow(1, 0, 5), table)));
  EXPECT_TRUE(turned[0].narrow(1, 5, 12).equal(rotate(x[0].narrow(1, 5, 12), table)));
  EXPECT_TRUE(turned[1].equal(rotate(x[1], table)));
}

TEST(RowsAt, AreForAsManyTexts) {
  const RotaryTable table = make_rotary_table({.head_size = 8, .num_positions = 40}, at::kCPU);
  const RotaryTable rows = rows_at(table, document_positions({{5, 12}, {17}}));
  EXPECT_THROW((void)rotate(at::randn({3, 3, 17, 8}), rows), UsageError);
  EXPECT_THROW((void)rotate(at::randn({3, 17, 8}), rows), UsageError);
  EXPECT_THROW((void)rotate(at::randn({2, 3, 18, 8}), rows), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
