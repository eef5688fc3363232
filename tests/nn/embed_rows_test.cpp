#include "nn/kernels/embed_rows.h"

#include <torch/nn.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

TEST(EmbedRows, AddThePositionsOfTheirTokens) {
  const at::Tensor table = at::randn({20, 7}), places = at::randn({6, 7});
  const at::Tensor tokens = at::randint(20, {3, 5}, at::kLong);
  const at::Tensor positions = at::randint(6, {3, 5}, at::kLong);
  const at::Tensor alone = table.index({tokens});
  EXPECT_TRUE(embed_rows(table, tokens, {}, {}).equal(alone));
  EXPECT_TRUE(embed_rows(table, tokens, places, {}).equal(alone + places.narrow(0, 0, 5)));
  EXPECT_TRUE(
      embed_rows(table, tokens, places, positions).equal(alone + places.index({positions})));
}

TEST(EmbeddingGradient, IsAddedToTheRowsOfItsTokens) {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor tokens = at::tensor({3, 0, 3, 3, 5}, at::kLong);
    const at::Tensor rows = at::arange(5 * 9).view({5, 9}).to(type);
    at::Tensor target = at::ones({6, 9}, type);
    add_embedding_gradient(rows, tokens, target);
    at::Tensor expected = at::ones({6, 9}, at::kDouble);
    for (int i = 0; i < 5; ++i) expected[tokens[i].item<int>()] += rows[i];
    EXPECT_TRUE(target.to(at::kDouble).equal(expected));
  }
}

TEST(EmbeddingGradient, GoesToTargetsOfOtherTypes) {
  const at::Tensor rows = at::ones({3, 4}, at::kBFloat16);
  at::Tensor target = at::zeros({2, 4});
  add_embedding_gradient(rows, at::tensor({1, 1, 1}, at::kLong), target);
  EXPECT_TRUE(target[1].equal(at::full({4}, 3.0F)));
}

TEST(PositionGradient, IsTheSumOverTexts) {
  const at::Tensor rows = at::randn({3, 5, 7}, at::kDouble);
  at::Tensor target = at::ones({9, 7}, at::kDouble);
  add_position_gradient(rows, target);
  expect_near(target.narrow(0, 0, 5), rows.sum(0) + 1, 1e-14);
  EXPECT_TRUE(target.narrow(0, 5, 4).equal(at::ones({4, 7}, at::kDouble)));
}

}  // namespace
}  // namespace sheaf::nn
