// gelu_tanh and swiglu.
#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/linear.h"

namespace sheaf::nn {
namespace {

at::Tensor own_gelu(const Tensors& in) { return gelu_tanh(in[0]); }
at::Tensor plain_gelu(const Tensors& in) { return at::gelu(in[0], "tanh"); }
at::Tensor own_swiglu(const Tensors& in) { return swiglu(in[0], in[1]); }
at::Tensor plain_swiglu(const Tensors& in) { return at::silu(in[0]) * in[1]; }

TEST(Activations, AreTheFormulasInAllTypesAndSizes) {
  for (const std::int64_t size : {1, 15, 17, 100, 40000}) {
    SCOPED_TRACE(std::to_string(size) + " elements");
    const Tensors in{at::randn({size}) * 3, at::randn({size}) * 3};
    expect_same_in_all_types(own_gelu, plain_gelu, {in[0]});
    expect_same_in_all_types(own_swiglu, plain_swiglu, in);
  }
}

TEST(Activations, TakeViewsOfOtherTensors) {
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      const auto halves = in[0].chunk(2, -1);
      return formula({halves[0].transpose(0, 1), halves[1].transpose(0, 1)});
    };
  };
  const Tensors in{at::randn({9, 14})};
  expect_same_in_all_types(viewed(own_gelu), viewed(plain_gelu), in);
  expect_same_in_all_types(viewed(own_swiglu), viewed(plain_swiglu), in);
}

TEST(Activations, StayFiniteAtExtremes) {
  const at::Tensor x = at::tensor({-1e30F, -1e4F, -60.0F, -20.0F, 20.0F, 60.0F, 1e4F, 1e18F});
  const Outcome gelu = outcome(own_gelu, {x});
  const at::Tensor expected = at::tensor({0.0F, 0.0F, 0.0F, 0.0F, 20.0F, 60.0F, 1e4F, 1e18F});
  EXPECT_TRUE(gelu.value.isfinite().all().item<bool>()) << gelu.value;
  EXPECT_TRUE(at::allclose(gelu.value.slice(0, 1), expected.slice(0, 1), 1e-6, 1e-7)) << gelu.value;
  EXPECT_TRUE(gelu.gradients[0].isfinite().all().item<bool>()) << gelu.gradients[0];
  const Outcome swiglu = outcome(own_swiglu, {x, at::ones_like(x)});
  EXPECT_TRUE(at::allclose(swiglu.value, expected, 1e-6, 1e-7)) << swiglu.value;
  EXPECT_TRUE(swiglu.gradients[0].isfinite().all().item<bool>());
}

TEST(Activations, KeepWhatIsNotANumber) {
  const at::Tensor x = at::full({40}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(gelu_tanh(x).isnan().all().item<bool>());
  EXPECT_TRUE(swiglu(x, at::ones_like(x)).isnan().all().item<bool>());
}

TEST(Activations, RefuseDifferentShapes) {
  EXPECT_THROW(static_cast<void>(swiglu(at::randn({4, 8}), at::randn({8}))), UsageError);
}

TEST(Activations, TakeNoRows) {
  const Tensors in{at::randn({0, 8}), at::randn({0, 8})};
  EXPECT_EQ(outcome(own_gelu, in).value.sizes(), in[0].sizes());
  EXPECT_EQ(outcome(own_swiglu, in).gradients[1].sizes(), in[0].sizes());
}

TEST(Activations, GiveTheSameBitsOnTwoThreads) {
  const Tensors in{at::randn({300, 301}), at::randn({300, 301})};
  for (const Formula& formula : {Formula(own_gelu), Formula(own_swiglu)}) {
    const auto on = [&](int count) {
      const Threads threads(count);
      return outcome(formula, in);
    };
    const Outcome one = on(1), two = on(2);
    EXPECT_TRUE(one.value.equal(two.value));
    EXPECT_TRUE(one.gradients[0].equal(two.gradients[0]));
  }
}

}  // namespace
}  // namespace sheaf::nn
