// The loss of a chunk of logits whose rows are further apart than they are long.
#include "nn/kernels/cross_entropy.h"

#include <torch/nn.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

at::Tensor targets_of(std::int64_t rows, std::int64_t vocabulary) {
  at::Tensor targets = at::arange(rows, at::kLong).remainder(vocabulary);
  targets[rows / 2] = -100;
  return targets;
}

/// softmax - one-hot in fp64, with zeros for what is ignored.
at::Tensor gradient_of(const at::Tensor& logits, const at::Tensor& targets) {
  const at::Tensor softmax = logits.to(at::kDouble).softmax(1);
  const at::Tensor hot = at::one_hot(targets.clamp_min(0), logits.size(1));
  return (softmax - hot).masked_fill(targets.lt(0).unsqueeze(1), 0);
}

TEST(CrossEntropyOfChunk, TakesRowsWithGaps) {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor memory = at::randn({5, 24}).to(type), logits = memory.narrow(1, 3, 17);
    const at::Tensor targets = targets_of(5, 17), expected = gradient_of(logits, targets);
    const at::Tensor losses = at::cross_entropy_loss(
        logits.to(at::kDouble), targets, {}, at::Reduction::Sum, /*ignore_index=*/-100);
    const at::Tensor around = memory.narrow(1, 20, 4).clone();
    const ChunkLoss loss = cross_entropy_of_chunk({.logits = logits, .targets = targets}, true);
    EXPECT_NEAR(loss.loss.item<double>(), losses.item<double>(), 1e-5);
    expect_near(loss.gradient, expected, type == at::kBFloat16 ? 1e-2 : 1e-6);
    EXPECT_TRUE(memory.narrow(1, 20, 4).equal(around));
  }
}

}  // namespace
}  // namespace sheaf::nn
