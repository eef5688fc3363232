// Steps that are recorded as a CUDA graph and replayed; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <memory>

#include "optim/flat_slots.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"
#include "train/cuda_graph.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::FlatSlots;

constexpr std::int64_t kSize = 50'021;
constexpr int kPlainSteps = 2;
constexpr int kSteps = 7;

class RecordedStepKernelsOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    // The default stream cannot be recorded.
    const at::Device device(at::kCUDA, 0);
    stream_.reset_stream(c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device));
  }

 private:
  c10::OptionalStreamGuard stream_;
};

std::shared_ptr<FlatSlots> new_slots() {
  at::manual_seed(1);
  const std::vector<Slot> slots{{.name = "a", .shape = {30'000}, .size = 30'000},
                                {.name = "b", .shape = {2, 9}, .offset = 30'001, .size = 20'000}};
  return std::make_shared<FlatSlots>(at::randn({kSize}).cuda(), slots);
}

at::Tensor gradient_of(int step) {
  at::manual_seed(static_cast<std::uint64_t>(step) + 2);
  return at::randn({kSize}).cuda();
}

at::Tensor scale_of(int step) {
  return at::full({}, 1.0 / (step + 2), at::TensorOptions(at::kCUDA).dtype(at::kDouble));
}

double rate_of(int step) { return 1.0 / (step + 1); }

template <class Algorithm, class Options>
void expect_the_bits_of_plain_steps(Options options) {
  options.rules = {{.max_dims = 1, .weight_decay = 0.0}};
  const auto plain = new_slots();
  const auto replayed = new_slots();
  Algorithm expected(plain, options);
  Algorithm actual(replayed, options);
  replayed->current_gradient = at::zeros({kSize}).cuda();
  const at::Tensor scale = scale_of(0);
  RecordedStep recorded = actual.new_recording();
  train::CudaGraph graph(replayed->segment().master.device());
  for (int step = 0; step < kSteps; ++step) {
    plain->current_gradient = gradient_of(step);
    expected.step(rate_of(step), {.gradient_scale = scale_of(step)});
    replayed->current_gradient.copy_(gradient_of(step));
    scale.copy_(scale_of(step));
    if (step == kPlainSteps) {
      graph.record([&] { actual.step(1, {.gradient_scale = scale, .recording = &recorded}); });
    }
    if (step < kPlainSteps) {
      actual.step(rate_of(step), {.gradient_scale = scale});
    } else {
      actual.replay(recorded, rate_of(step));
      graph.replay();
    }
  }
  EXPECT_TRUE(replayed->segment().master.equal(plain->segment().master));
  EXPECT_EQ(actual.step_counts(), expected.step_counts());
}

TEST_F(RecordedStepKernelsOnCuda, GiveTheBitsOfPlainStepsWithAdamW) {
  expect_the_bits_of_plain_steps<AdamW>(AdamWOptions{.learning_rate = 0.01});
}

TEST_F(RecordedStepKernelsOnCuda, GiveTheBitsOfPlainStepsWithAdam) {
  expect_the_bits_of_plain_steps<Adam>(AdamOptions{.weight_decay = 0.1});
}

TEST_F(RecordedStepKernelsOnCuda, GiveTheBitsOfPlainStepsWithSgd) {
  expect_the_bits_of_plain_steps<Sgd>(SgdOptions{.learning_rate = 0.1, .momentum = 0.9});
}

TEST_F(RecordedStepKernelsOnCuda, ChangeNothingWhileTheyAreRecorded) {
  const auto source = new_slots();
  AdamW optimizer(source);
  source->current_gradient = gradient_of(0);
  optimizer.step();
  const at::Tensor before = source->segment().master.clone();
  const StepCounts counts = optimizer.step_counts();
  RecordedStep recorded = optimizer.new_recording();
  train::CudaGraph graph(before.device());
  graph.record([&] { optimizer.step(1, {.recording = &recorded}); });
  EXPECT_TRUE(source->segment().master.equal(before));
  EXPECT_EQ(optimizer.step_counts(), counts);
}

TEST_F(RecordedStepKernelsOnCuda, CanBeTriedAgainWhereRecordingFails) {
  const auto source = new_slots();
  AdamW optimizer(source);
  source->current_gradient = gradient_of(0);
  {
    train::CudaGraph graph(source->segment().master.device());
    // Whoever waits for the device cannot be recorded.
    EXPECT_ANY_THROW(graph.record([&] { (void)source->current_gradient.sum().item<float>(); }));
  }
  optimizer.step();
  EXPECT_TRUE(source->segment().master.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace sheaf::optim
