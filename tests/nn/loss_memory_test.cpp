#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/nn/linear_cross_entropy.h"

namespace sheaf::nn {
namespace {

TEST(LinearCrossEntropy, NeverHoldsAllLogits) {
  memory::count_cpu_tensors();
  constexpr std::int64_t kRows = 1024, kWidth = 32, kVocabulary = 8192;
  const at::Tensor hidden = at::randn({kRows, kWidth}).requires_grad_();
  const at::Tensor weight = at::randn({kVocabulary, kWidth}).requires_grad_();
  const at::Tensor targets = at::randint(kVocabulary, {kRows}, at::kLong);
  const std::int64_t before = memory::cpu_usage().current.count;
  memory::reset_cpu_peak();
  linear_cross_entropy(hidden, weight, targets).div(kRows).backward();
  const std::int64_t taken = memory::cpu_usage().peak.count - before;
  constexpr std::int64_t kGradients = 4 * (kRows + kVocabulary) * kWidth;
  constexpr std::int64_t kLogits = 4 * kRows * kVocabulary;
  EXPECT_GE(taken, kGradients);
  EXPECT_LE(taken, kGradients + kLogits / 3);
}

}  // namespace
}  // namespace sheaf::nn
