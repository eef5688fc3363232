#include "gpu_training/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/small_traces.h"
#include "sheaf/base/error.h"
#include "support/temporary_folder.h"

namespace sheaf::bench {
namespace {

using profile::event;
using profile::range;

profile::Trace trace_of(const std::vector<std::string>& events) {
  const testing::TemporaryFolder folder;
  return profile::read_trace(folder.write("a.json", profile::trace_text(events)));
}

// Two steps of 500 and 900 us: a product and a copy beside it, then another product, then AdamW.
profile::Trace two_steps() {
  return trace_of({range("step", {0, 500}),
                   range("step", {1000, 1900}),
                   event("cpu_op", "aten::mm", {0, 2000}),
                   event("kernel", "nvjet_a", {0, 400}, {.thread = 7}),
                   event("gpu_memcpy", "Memcpy HtoD", {300, 400}, {.thread = 9}),
                   event("kernel", "nvjet_b", {1000, 1600}, {.thread = 7}),
                   event("kernel", "adam_kernel", {1700, 1900}, {.thread = 7})});
}

TEST(Budget, AddsUpEachClassPerStep) {
  const Budget budget = budget_of(two_steps());
  const ClassUse& gemm = budget.classes.at(KernelClass::gemm);
  EXPECT_DOUBLE_EQ(gemm.ms, 0.5);
  EXPECT_DOUBLE_EQ(gemm.calls, 1);
  EXPECT_EQ(gemm.kernels.front().name, "nvjet_b");
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::optimizer).ms, 0.1);
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::copy).running_ms, 0.05);
}

TEST(Budget, CountsMomentsWithTwoKernelsOnce) {
  EXPECT_DOUBLE_EQ(budget_of(two_steps()).busy_ms, 0.6);
}

TEST(Budget, GivesAMomentToTheFirstClassThatRuns) {
  const Budget budget =
      budget_of(trace_of({range("step", {0, 1000}),
                          event("kernel", "adam_kernel", {0, 600}, {.thread = 9}),
                          event("kernel", "nvjet", {100, 400}, {.thread = 7}),
                          event("kernel", "norm_kernel", {300, 500}, {.thread = 7})}));
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::gemm).ms, 0.3);
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::norm).ms, 0.1);
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::optimizer).ms, 0.2);
  EXPECT_DOUBLE_EQ(budget.classes.at(KernelClass::optimizer).running_ms, 0.6);
  EXPECT_DOUBLE_EQ(budget.busy_ms, 0.6);
}

TEST(Budget, CallsTheRestOfARecordedStepGaps) {
  const Budget budget = budget_of(two_steps());
  // 100 us in each step; the 500 us between them are of neither.
  EXPECT_DOUBLE_EQ(budget.gaps_ms, 0.1);
  EXPECT_DOUBLE_EQ(budget.recorded_ms(), 0.7);
}

TEST(Budget, LeavesTheStartOfTheRecorderOutOfTheGaps) {
  const Budget budget = budget_of(trace_of({range("step", {0, 9000}),
                                            range("step", {9000, 10000}),
                                            range("step", {10000, 11000}),
                                            event("kernel", "nvjet", {8500, 9000}),
                                            event("kernel", "nvjet", {9200, 10000}),
                                            event("kernel", "nvjet", {10300, 11000})}));
  EXPECT_DOUBLE_EQ(budget.gaps_ms, 0.3);
}

TEST(Budget, RefusesATraceWithoutSteps) {
  const profile::Trace trace = trace_of({event("kernel", "nvjet", {0, 400})});
  EXPECT_THROW(static_cast<void>(budget_of(trace)), Error);
}

}  // namespace
}  // namespace sheaf::bench
