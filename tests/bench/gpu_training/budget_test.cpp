#include "gpu_training/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/small_traces.h"
#include "support/temporary_folder.h"

namespace sheaf::bench {
namespace {

using profile::event;

// Two steps of 1000 us: a product and a copy beside it, then another product, then AdamW.
profile::Trace two_steps() {
  const testing::TemporaryFolder folder;
  return profile::read_trace(folder.write(
      "a.json",
      profile::trace_text({event("cpu_op", "aten::mm", {0, 2000}),
                           event("kernel", "nvjet_a", {0, 400}, {.thread = 7}),
                           event("gpu_memcpy", "Memcpy HtoD", {300, 400}, {.thread = 9}),
                           event("kernel", "nvjet_b", {1000, 1600}, {.thread = 7}),
                           event("kernel", "adam_kernel", {1700, 1900}, {.thread = 7})})));
}

TEST(Budget, AddsUpEachClassPerStep) {
  const Budget budget = budget_of(two_steps(), 2);
  const ClassUse& gemm = budget.classes.at(KernelClass::gemm);
  EXPECT_DOUBLE_EQ(gemm.ms, 0.5);
  EXPECT_DOUBLE_EQ(gemm.calls, 1);
  EXPECT_EQ(gemm.kernels.front().name, "nvjet_b");
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::optimizer).ms, 0.1);
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::copy).ms, 0.05);
}

TEST(Budget, CountsMomentsWithTwoKernelsOnce) {
  const Budget budget = budget_of(two_steps(), 2);
  EXPECT_DOUBLE_EQ(budget.busy_ms, 0.6);
  EXPECT_NEAR(budget.hidden_ms(), 0.05, 1e-12);
}

TEST(Budget, CallsTheRestOfAStepGaps) {
  const Budget budget = budget_of(two_steps(), 2);
  EXPECT_DOUBLE_EQ(budget.gaps_ms(1.0), 0.4);
  EXPECT_DOUBLE_EQ(budget.gaps_ms(0.5), 0);
}

}  // namespace
}  // namespace sheaf::bench
