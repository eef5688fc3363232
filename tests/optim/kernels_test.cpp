// The CPU kernels as compiled for every processor that this one can stand for.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "optim/kernels/arithmetic.h"
#include "optim/kernels/cpu.h"

namespace sheaf::optim {
namespace {

constexpr AdamFactors<double> kAdam{.decay = 0.999,
                                    .gradient_decay = 0.01,
                                    .beta1 = 0.9,
                                    .one_minus_beta1 = 0.1,
                                    .beta2 = 0.95,
                                    .one_minus_beta2 = 0.05,
                                    .root_bias2 = 0.7,
                                    .epsilon = 1e-8,
                                    .step_size = 0.3};
constexpr SgdFactors<double> kSgd{.learning_rate = 0.3,
                                  .gradient_decay = 0.01,
                                  .keep = 0.9,
                                  .take = 0.7,

                                  .look_ahead = 0.9};

using Step = std::function<void(const Elements&, Part)>;
struct NamedStep {
  std::string name;
  Step step;
};

/// Returns all kernels of this processor; plain_sgd ignores its state.
std::vector<NamedStep> all_steps() {
  std::vector<NamedStep> steps;
  for (const CpuKernels& kernels : cpu_kernels()) {
    const std::string on = " on " + std::string(kernels.name);
    steps.push_back(
        {"adam" + on, [=](const Elements& all, Part part) { kernels.adam(all, kAdam, part); }});
    steps.push_back(
        {"sgd" + on, [=](const Elements& all, Part part) { kernels.sgd(all, kSgd, part); }});
    steps.push_back({"plain_sgd" + on, [=](Elements all, Part part) {
                       all.state1 = nullptr;
                       kernels.sgd(all, kSgd, part);
                     }});
  }
  return steps;
}

/// Rows: master, gradient, first state, second state (not negative); values of many sizes.
at::Tensor random_rows(std::int64_t size, at::ScalarType type) {
  at::manual_seed(3);
  const at::Tensor rows =
      at::randn({4, size}, type) * at::pow(10, at::randint(-6, 3, {4, size}).to(type));
  rows[3].abs_();
  return rows;
}

struct Buffers {
  at::Tensor rows;
  at::Tensor copy;

  [[nodiscard]] Elements elements(Type copy_type) const {
    return {.master = rows[0].mutable_data_ptr(),
            .gradient = rows[1].const_data_ptr(),
            .state1 = rows[2].mutable_data_ptr(),
            .state2 = rows[3].mutable_data_ptr(),
            .copy = copy.mutable_data_ptr(),
            .size = rows.size(1),
            .type = rows.scalar_type() == at::kFloat ? Type::fp32 : Type::fp64,
            .copy_type = copy_type};
  }
};

/// Returns rows and copy after steps over [0, cuts[0]), [cuts[0], cuts[1]) and so on to the end.
Buffers stepped(const Step& step, const at::Tensor& start, std::vector<std::int64_t> cuts) {
  Buffers buffers{start.clone(), at::zeros({start.size(1)}, at::kBFloat16)};
  cuts.push_back(start.size(1));
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    step(buffers.elements(Type::bf16), {begin, end});
    begin = end;
  }
  return buffers;
}

/// Compares bits, so that zeros of different signs differ and what is not a number may be equal.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.contiguous().view(at::kByte).equal(b.contiguous().view(at::kByte));
}

class CpuKernelsOf : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, CpuKernelsOf, ::testing::Values(at::kFloat, at::kDouble));

TEST_P(CpuKernelsOf, GiveTheSameBitsHoweverElementsAreCut) {
  const at::Tensor start = random_rows(5000, GetParam());
  std::vector<std::int64_t> single(4999);
  for (std::size_t i = 0; i < single.size(); ++i) single[i] = static_cast<std::int64_t>(i) + 1;
  for (const auto& [name, step] : all_steps()) {
    const Buffers whole = stepped(step, start, {});
    for (const auto& cuts :
         {single, {1, 2, 4, 7, 12, 19, 35, 66, 131}, {3, 1003, 4999}, {4096, 4097}}) {
      const Buffers parts = stepped(step, start, cuts);
      EXPECT_TRUE(same_bits(parts.rows, whole.rows)) << name << ", first cut " << cuts[0];
      EXPECT_TRUE(same_bits(parts.copy, whole.copy)) << name << ", first cut " << cuts[0];
    }
  }
}

TEST_P(CpuKernelsOf, GiveTheSameBitsAtEveryOffset) {
  const at::Tensor values = random_rows(301, GetParam());
  for (const auto& [name, step] : all_steps()) {
    const Buffers expected = stepped(step, values, {});
    for (const std::int64_t offset : {1, 2, 3, 5, 8, 13, 16, 31, 63}) {
      const at::Tensor shifted = at::zeros({4, 301 + offset}, GetParam());
      shifted.narrow(1, offset, 301).copy_(values);
      const Buffers actual = stepped(step, shifted, {});
      EXPECT_TRUE(same_bits(actual.rows.narrow(1, offset, 301), expected.rows)) << name << offset;
    }
  }
}

TEST_P(CpuKernelsOf, GiveTheSameBitsOnEveryProcessor) {
  const at::Tensor start = random_rows(5000, GetParam());
  const auto steps = all_steps();
  for (std::size_t i = 3; i < steps.size(); ++i) {
    const Buffers actual = stepped(steps[i].step, start, {});
    const Buffers expected = stepped(steps[i % 3].step, start, {});
    EXPECT_TRUE(same_bits(actual.rows, expected.rows)) << steps[i].name;
    EXPECT_TRUE(same_bits(actual.copy, expected.copy)) << steps[i].name;
  }
}

TEST_P(CpuKernelsOf, GiveTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor start = random_rows(700'001, GetParam());
  const Buffers expected = stepped(all_steps()[0].step, start, {});
  const int threads_before = at::get_num_threads();
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    const Buffers actual =
        stepped([](const Elements& all, Part) { adam_on_cpu(all, kAdam); }, start, {});
    EXPECT_TRUE(same_bits(actual.rows, expected.rows)) << threads << " threads";
    EXPECT_TRUE(same_bits(actual.copy, expected.copy)) << threads << " threads";
  }
  at::set_num_threads(threads_before);
}

/// Returns values around every border of fp16 and bf16, and ordinary ones.
at::Tensor values_to_round() {
  std::vector<float> values{
      0.0F,           -0.0F,         1.0F,     65504.0F,    65519.996F,
      65520.0F,       65536.0F,      1e30F,    3.4e38F,     std::numeric_limits<float>::infinity(),
      6.1e-5F,        6.1035156e-5F, 5.96e-8F, 2.98e-8F,    2.9802322e-8F,
      2.9802326e-8F,  1e-12F,        1e-40F,   1.00390625F, 1.01171875F,
      1.00048828125F, 1.00146484375F};
  const at::Tensor edges = at::tensor(values);
  at::manual_seed(5);
  const at::Tensor ordinary = at::randn({20'000}) * at::pow(10, at::randint(-10, 6, {20'000}));
  return at::cat({edges, -edges, ordinary});
}

TEST_P(CpuKernelsOf, RoundCopiesAsLibTorchDoes) {
  const at::Tensor master = values_to_round().to(GetParam());
  const std::vector<std::pair<Type, at::ScalarType>> types{{Type::bf16, at::kBFloat16},
                                                           {Type::fp16, at::kHalf},
                                                           {Type::fp32, at::kFloat},
                                                           {Type::fp64, at::kDouble}};
  for (const CpuKernels& kernels : cpu_kernels()) {
    for (const auto& [type, scalar_type] : types) {
      Buffers buffers{at::stack({master, at::zeros_like(master)}),
                      at::zeros_like(master, scalar_type)};
      Elements all = {.master = buffers.rows[0].mutable_data_ptr(),
                      .gradient = buffers.rows[1].const_data_ptr(),
                      .copy = buffers.copy.mutable_data_ptr(),
                      .type = GetParam() == at::kFloat ? Type::fp32 : Type::fp64,
                      .copy_type = type};
      kernels.sgd(all, {.learning_rate = 0}, {0, master.numel()});
      EXPECT_TRUE(same_bits(buffers.copy, master.to(scalar_type))) << kernels.name << scalar_type;
    }
  }
}

TEST(RoundingToLowPrecision, KeepsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(static_cast<float>(c10::BFloat16(bf16_bits(nan), c10::BFloat16::from_bits()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(c10::Half(fp16_bits(nan), c10::Half::from_bits()))));
}

}  // namespace
}  // namespace sheaf::optim
