// Gradients, states and masters in bf16, and gradients that are scaled on their way.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "optim/flat_slots.h"
#include "optim/kernels/cpu.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/plain_slots.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::FlatSlots;

constexpr std::int64_t kSize = 1037;

std::shared_ptr<FlatSlots> slots_of(const at::Tensor& master) {
  return std::make_shared<FlatSlots>(
      master, std::vector<Slot>{{.name = "p", .shape = {kSize}, .size = kSize}});
}

at::Tensor random(std::uint64_t seed, at::ScalarType type = at::kFloat) {
  at::manual_seed(seed);
  return at::randn({kSize}).to(type);
}

const AdamWOptions kFp32{.learning_rate = 0.01, .beta2 = 0.95};
const AdamWOptions kBf16{.learning_rate = 0.01, .beta2 = 0.95, .moments = Moments::bf16};

void round_in_place(const at::Tensor& values) { values.copy_(values.to(at::kBFloat16)); }

TEST(LowPrecision, GradientsInBf16StepAsTheirValuesInFp32) {
  const auto wide = slots_of(random(1));
  const auto low = slots_of(random(1));
  AdamW expected(wide, kFp32);
  AdamW actual(low, kFp32);
  for (std::uint64_t step = 2; step < 5; ++step) {
    low->current_gradient = random(step, at::kBFloat16);
    wide->current_gradient = low->current_gradient.to(at::kFloat);
    expected.step();
    actual.step();
  }
  EXPECT_TRUE(low->segment().master.equal(wide->segment().master));
}

TEST(LowPrecision, MomentsInBf16AreThoseInFp32RoundedAfterEachStep) {
  const auto wide = slots_of(random(1));
  const auto low = slots_of(random(1));
  AdamW expected(wide, kFp32);
  AdamW actual(low, kBf16);
  for (std::uint64_t step = 2; step < 6; ++step) {
    wide->current_gradient = low->current_gradient = random(step);
    expected.step();
    actual.step();
    for (const char* name : {"exp_avg", "exp_avg_sq"}) round_in_place(expected.state(name, 0));
  }
  EXPECT_EQ(actual.state("exp_avg", 0).scalar_type(), at::kBFloat16);
  EXPECT_TRUE(actual.state("exp_avg_sq", 0).to(at::kFloat).equal(expected.state("exp_avg_sq", 0)));
  EXPECT_TRUE(low->segment().master.equal(wide->segment().master));
}

TEST(LowPrecision, MastersInBf16AreThoseInFp32RoundedAfterEachStep) {
  const auto low = slots_of(random(1, at::kBFloat16));
  const auto wide = slots_of(low->segment().master.to(at::kFloat));
  AdamW expected(wide, kBf16);
  AdamW actual(low, kBf16);
  for (std::uint64_t step = 2; step < 6; ++step) {
    wide->current_gradient = low->current_gradient = random(step, at::kBFloat16);
    expected.step();
    actual.step();
    round_in_place(wide->segment().master);
  }
  EXPECT_TRUE(low->segment().master.to(at::kFloat).equal(wide->segment().master));
}

TEST(LowPrecision, MastersInBf16HaveStatesInFp32UnlessAskedFor) {
  AdamW optimizer(slots_of(random(1, at::kBFloat16)), kFp32);
  EXPECT_EQ(optimizer.state("exp_avg", 0).scalar_type(), at::kFloat);
  EXPECT_EQ(optimizer.state_type(0), at::kFloat);
}

TEST(LowPrecision, MomentumOfSgdMayBeBf16) {
  const auto source = slots_of(at::zeros({kSize}));
  Sgd optimizer(source, {.learning_rate = 1, .momentum = 0.5, .moments = Moments::bf16});
  source->current_gradient = random(3);
  optimizer.step();
  EXPECT_TRUE(optimizer.state("momentum_buffer", 0).equal(random(3, at::kBFloat16)));
  EXPECT_TRUE(source->segment().master.equal(-random(3)));
}

TEST(LowPrecision, EveryProcessorGivesTheSameBits) {
  std::vector<at::Tensor> results;
  for (const CpuKernels& kernels : cpu_kernels()) {
    const at::Tensor values = at::stack({random(1), random(2), random(3), random(4).abs_()});
    const at::Tensor low = values.to(at::kBFloat16);
    const Elements all{.master = values[0].mutable_data_ptr(),
                       .gradient = low[1].const_data_ptr(),
                       .state1 = low[2].mutable_data_ptr(),
                       .state2 = low[3].mutable_data_ptr(),
                       .size = kSize,
                       .gradient_type = Type::bf16,
                       .state_type = Type::bf16};
    kernels.adam(all,
                 {.decay = 0.9,
                  .beta1 = 0.9,
                  .one_minus_beta1 = 0.1,
                  .beta2 = 0.95,
                  .one_minus_beta2 = 0.05,
                  .root_bias2 = 0.7,
                  .epsilon = 1e-8,
                  .step_size = 0.3},
                 {0, kSize});
    results.push_back(at::cat({values.view({-1}), low.view({-1}).to(at::kFloat)}));
  }
  for (const at::Tensor& result : results) EXPECT_TRUE(result.equal(results.front()));
}

TEST(LowPrecision, IsRefusedWhereItCannotWork) {
  EXPECT_EQ(
      error_of([] { AdamW(slots_of(random(1)), {.beta2 = 0.999, .moments = Moments::bf16}); }),
      "beta2 of AdamW must be at most 0.995 with moments in bf16, which a smaller change does "
      "not reach, got 0.999");
  EXPECT_EQ(error_of([] { AdamW(slots_of(random(1, at::kDouble)), kBf16); }),
            "moments in bf16 go with fp32 and bf16 parameters, not with fp64");
}

class ScaledGradients : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, ScaledGradients, ::testing::Values(at::kFloat, at::kDouble));

template <class Algorithm, class Options>
void expect_scaled_alike(at::ScalarType type, const Options& options) {
  const auto before = slots_of(random(1, type));
  const auto within = slots_of(random(1, type));
  Algorithm expected(before, options);
  Algorithm actual(within, options);
  const at::Tensor scale = at::full({}, 1.0 / 3, at::kDouble);
  for (std::uint64_t step = 2; step < 5; ++step) {
    within->current_gradient = random(step, type);
    before->current_gradient = random(step, type).mul_(scale.to(type));
    expected.step(0.5);
    actual.step(0.5, {.gradient_scale = scale});
  }
  EXPECT_TRUE(within->segment().master.equal(before->segment().master));
}

TEST_P(ScaledGradients, StepAsThoseThatWereScaledBefore) {
  expect_scaled_alike<AdamW>(GetParam(), kFp32);
  expect_scaled_alike<Sgd>(GetParam(), SgdOptions{.learning_rate = 0.1});
  expect_scaled_alike<Sgd>(GetParam(), SgdOptions{.learning_rate = 0.1, .momentum = 0.9});
}

TEST(ScaledGradient, MustBeOneFp64Number) {
  const auto source = slots_of(random(1));
  source->current_gradient = random(2);
  AdamW optimizer(source);
  EXPECT_EQ(error_of([&] { optimizer.step(1, {.gradient_scale = at::ones({2})}); }),
            "gradient_scale must be one fp64 number on cpu, got 2 of Float on cpu");
}

TEST(RecordedSteps, NeedACudaDevice) {
  const AdamW optimizer(slots_of(random(1)));
  EXPECT_EQ(error_of([&] { (void)optimizer.new_recording(); }),
            "steps are recorded on CUDA devices only");
}

}  // namespace
}  // namespace sheaf::optim
