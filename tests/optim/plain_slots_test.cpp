#include "sheaf/optim/plain_slots.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;

TEST(PlainSlots, StepsTheParametersThemselves) {
  const at::Tensor p = at::ones({2, 3}).requires_grad_();
  Sgd optimizer(plain_slots({{"p", p}}), {.learning_rate = 0.5});
  (p * 3).sum().backward();
  optimizer.step();
  EXPECT_TRUE(p.equal(at::full({2, 3}, -0.5)));
}

TEST(PlainSlots, UsesGradientsUp) {
  const at::Tensor p = at::ones({2}).requires_grad_();
  Sgd optimizer(plain_slots({{"p", p}}));
  p.sum().backward();
  optimizer.step();
  EXPECT_FALSE(p.grad().defined());
}

TEST(PlainSlots, LetsAParameterWithoutGradientSitOut) {
  const at::Tensor used = at::ones({2}).requires_grad_();
  const at::Tensor unused = at::ones({2}).requires_grad_();
  AdamW optimizer(plain_slots({{"used", used}, {"unused", unused}}), {.weight_decay = 0.5});
  used.sum().backward();
  optimizer.step();
  EXPECT_TRUE(unused.equal(at::ones({2})));
  EXPECT_FALSE(used.equal(at::ones({2})));
  EXPECT_EQ(optimizer.step_counts(), (StepCounts{.steps = 1, .slots = {{1}, {0}}}));
}

TEST(PlainSlots, KeepsAnFp32MasterOfLowPrecisionParameters) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor p = at::ones({5}).to(type).requires_grad_();
    Sgd optimizer(plain_slots({{"p", p}}), {.learning_rate = 1e-4});
    for (int i = 0; i < 100; ++i) {
      p.mutable_grad() = at::ones_like(p);
      optimizer.step();
    }
    // Single steps are lost in the low type.
    EXPECT_TRUE(p.equal(at::full({5}, 0.99F).to(type))) << p;
  }
}

TEST(PlainSlots, TakesGradientsInAnyOrderOfMemory) {
  const at::Tensor p = at::zeros({2, 3}).requires_grad_();
  const at::Tensor gradient = at::arange(6).to(at::kFloat).view({3, 2}).t();
  p.mutable_grad() = gradient;
  Sgd optimizer(plain_slots({{"p", p}}), {.learning_rate = 1});
  optimizer.step();
  EXPECT_TRUE(p.equal(-gradient));
}

TEST(PlainSlots, StepsATensorWithTwoNamesOnce) {
  const at::Tensor p = at::ones({2}).requires_grad_();
  const Slots slots = plain_slots({{"embedding", p}, {"head", p}});
  ASSERT_EQ(slots->segments().size(), 1U);
  EXPECT_EQ(slots->segments()[0].slots[0].name, "embedding");
}

TEST(PlainSlots, TellsAutogradThatValuesChanged) {
  const at::Tensor p = at::ones({2}).requires_grad_();
  Sgd optimizer(plain_slots({{"p", p}}));
  const at::Tensor late = (p * p).sum();
  p.sum().backward();
  optimizer.step();
  EXPECT_THROW(late.backward(), c10::Error);
}

TEST(PlainSlots, RefusesTensorsThatCannotBeStepped) {
  EXPECT_EQ(error_of([] {
              (void)plain_slots({{"p", at::ones({2}, at::kLong)}});
            }),
            "parameter 'p' must be fp16, bf16, fp32 or fp64 to be stepped, got Long");
  EXPECT_EQ(error_of([] {
              (void)plain_slots({{"p", at::ones({2, 3}).t()}});
            }),
            "parameter 'p' must be contiguous to be stepped");
  EXPECT_EQ(error_of([] {
              (void)plain_slots({{"p", at::Tensor()}});
            }),
            "parameter 'p' is undefined");
  EXPECT_EQ(error_of([] {
              (void)plain_slots({{"p", at::ones({2})}, {"p", at::ones({2})}});
            }),
            "two parameters have the name 'p'");
}

TEST(PlainSlots, RefusesSparseGradients) {
  const at::Tensor p = at::ones({4, 2}).requires_grad_();
  Sgd optimizer(plain_slots({{"p", p}}));
  p.mutable_grad() = at::ones({4, 2}).to_sparse();
  EXPECT_EQ(error_of([&] { optimizer.step(); }),
            "the gradient of parameter 'p' is sparse, which is not stepped");
}

}  // namespace
}  // namespace sheaf::optim
