#include "sheaf/nn/rotary.h"

#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

/// The table in the type of `like`, but at least fp32.
RotaryTable table_for(const at::Tensor& like, std::int64_t head_size) {
  const bool is_double = like.scalar_type() == at::kDouble;
  return make_rotary_table({.head_size = head_size,
                            .num_positions = 40,
                            .theta = 500,
                            .type = is_double ? at::kDouble : at::kFloat},
                           at::kCPU);
}

at::Tensor own(const Tensors& in) { return rotate(in[0], table_for(in[0], in[0].size(-1))); }

/// Pairs as complex numbers, turned by e^(i angle).
at::Tensor plain(const Tensors& in) {
  const std::int64_t size = in[0].size(-1), length = in[0].size(-2);
  const auto halves = in[0].to(at::kDouble).chunk(2, -1);
  const at::Tensor powers = at::arange(0, size, 2, at::kDouble) / size * -std::log(500.0);
  const at::Tensor angles = at::arange(length, at::kDouble).unsqueeze(1) * powers.exp();
  const at::Tensor turned =
      at::complex(halves[0], halves[1]) * at::polar(at::ones_like(angles), angles);
  return at::cat({at::real(turned), at::imag(turned)}, -1).to(in[0].scalar_type());
}

TEST(Rotate, TurnsPairsByTheirPosition) {
  expect_same_in_all_types(own, plain, {at::randn({2, 3, 40, 8})});
  expect_same_in_all_types(own, plain, {at::randn({1, 1, 1, 2})});
  expect_same_in_all_types(own, plain, {at::randn({3, 2, 17, 6})});
}

TEST(Rotate, TurnsEachSampleByPositionsOfItsOwn) {
  const at::Tensor x = at::randn({2, 3, 4, 8}, at::kDouble);
  const RotaryTable table = table_for(x, 8);
  const at::Tensor positions = at::tensor({5, 6, 7, 8, 30, 0, 39, 30}, at::kLong).view({2, 4});
  const at::Tensor turned = rotate(x, rows_at(table, positions));
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto position = positions[sample][i].item<std::int64_t>();
      const at::Tensor alone =
          rotate(x[sample].narrow(1, i, 1),
                 {table.cosines.narrow(0, position, 1), table.sines.narrow(0, position, 1)});
      EXPECT_TRUE(turned[sample].narrow(1, i, 1).equal(alone));
    }
  }
}

TEST(Rotate, TakesViewsOfOtherTensors) {
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].narrow(-1, 4, 24).view({2, 10, 3, 8}).transpose(1, 2)});
    };
  };
  expect_same_in_all_types(viewed(own), viewed(plain), {at::randn({2, 10, 30})});
}

TEST(Rotate, TakesAnEmptyBatch) {
  EXPECT_EQ(outcome(own, {at::randn({0, 3, 5, 8})}).gradients[0].size(0), 0);
}

TEST(Rotate, RefusesWhatTheTableDoesNotHold) {
  const RotaryTable table = table_for(at::zeros({}), 8);
  EXPECT_THROW((void)rotate(at::randn({1, 1, 41, 8}), table), UsageError);
  EXPECT_THROW((void)rotate(at::randn({1, 1, 4, 6}), table), UsageError);
  EXPECT_THROW((void)make_rotary_table({.head_size = 7}, at::kCPU), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
