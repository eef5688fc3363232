#include "nn/kernels/rotary_rows.h"

#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/nn/rotary.h"

namespace sheaf::nn {
namespace {

RotaryTable table_of(std::int64_t head_size, at::ScalarType type) {
  return make_rotary_table({.head_size = head_size, .num_positions = 40, .type = type}, at::kCPU);
}

// nn::rotate takes heads before positions.
TEST(RotaryRows, AreTurnedAsHeadsAre) {
  for (const std::int64_t size : {2, 6, 16, 128}) {
    for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const at::Tensor x = at::randn({2, 7, 3, size}).to(type);
      const RotaryTable table = table_of(size, type == at::kDouble ? type : at::kFloat);
      const at::Tensor expected = rotate(x.transpose(1, 2), table).transpose(1, 2);
      EXPECT_TRUE(rotated_rows(x, table.cosines, table.sines, 1).equal(expected));
    }
  }
}

TEST(RotaryRows, AreTurnedInPlaceAndBack) {
  const at::Tensor before = at::randn({2, 7, 5, 30}, at::kDouble), all = before.clone();
  at::Tensor part = all.narrow(2, 1, 3).narrow(3, 4, 8);
  const at::Tensor x = part.clone();
  const RotaryTable table = table_of(8, at::kDouble);
  rotate_rows_(part, table.cosines, table.sines, 1);
  EXPECT_TRUE(part.equal(rotated_rows(x, table.cosines, table.sines, 1)));
  EXPECT_FALSE(all.equal(before));
  rotate_rows_(part, table.cosines, table.sines, -1);
  expect_near(all, before, 1e-14);
}

TEST(RotaryRows, HavePositionsOfTheirOwnByText) {
  const at::Tensor x = at::randn({2, 4, 3, 8}, at::kDouble);
  const at::Tensor positions = at::tensor({5, 6, 7, 8, 30, 0, 39, 30}, at::kLong).view({2, 4});
  const RotaryTable rows = rows_at(table_of(8, at::kDouble), positions);
  const at::Tensor expected = rotate(x.transpose(1, 2), rows).transpose(1, 2);
  EXPECT_TRUE(rotated_rows(x, rows.cosines, rows.sines, 1).equal(expected));
}

}  // namespace
}  // namespace sheaf::nn
