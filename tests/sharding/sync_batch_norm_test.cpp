#include "sheaf/sharding/sync_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr std::int64_t kChannels = 3;

at::Tensor random_values(at::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::kDouble);
}

/// One layer's tensors and what comes of a pass.
struct Layer {
  BatchNormTensors tensors{
      .weight = random_values({kChannels}, 1).requires_grad_(),
      .bias = random_values({kChannels}, 2).requires_grad_(),
      .running_mean = random_values({kChannels}, 3),
      .running_var = random_values({kChannels}, 4).abs(),
  };
  at::Tensor input;
  at::Tensor output;

  at::Tensor alone(const at::Tensor& values, bool training = true) {
    input = values.clone().requires_grad_();
    output = at::batch_norm(input,
                            tensors.weight,
                            tensors.bias,
                            tensors.running_mean,
                            tensors.running_var,
                            training,
                            /*momentum=*/0.1,
                            /*eps=*/1e-5,
                            /*cudnn_enabled=*/false);
    return output;
  }
  at::Tensor over(const comm::Group& group, const at::Tensor& values, bool training = true) {
    input = values.clone().requires_grad_();
    output = sync_batch_norm(input, tensors, group, {.training = training});
    return output;
  }
};

void require_near(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  require(actual.sizes() == expected.sizes(), what + ": shape");
  if (actual.numel() == 0) return;
  const double gap = (actual.detach() - expected.detach()).abs().max().item<double>();
  require(gap < 1e-10, what + " differs by " + std::to_string(gap));
}

/// A loss whose gradient is different for every element.
at::Tensor weighted_sum(const at::Tensor& output, const at::Tensor& factors) {
  return (output * factors).sum() + (output.square() * factors).sum();
}

struct Parts {
  std::vector<std::int64_t> sizes;
  at::Tensor of(const at::Tensor& whole, int rank) const {
    return whole.split_with_sizes(sizes)[static_cast<std::size_t>(rank)];
  }
};

/// Throws unless the ranks' parts of a batch are treated as one process treats all of it.
void expect_as_alone(at::IntArrayRef shape, const Parts& parts) {
  const at::Tensor values = random_values(shape, 5);
  const at::Tensor factors = random_values(shape, 6);
  Layer expected;
  weighted_sum(expected.alone(values), factors).backward();
  on_ranks(Way::shared_threads, static_cast<int>(parts.sizes.size()), [&](comm::Group group) {
    Layer layer;
    const at::Tensor output = layer.over(group, parts.of(values, group.rank()));
    weighted_sum(output, parts.of(factors, group.rank())).backward();
    for (const at::Tensor& shared : {layer.tensors.weight, layer.tensors.bias}) {
      group.all_reduce(shared.grad()).wait();
    }
    require_near(output, parts.of(expected.output, group.rank()), "output");
    require_near(layer.input.grad(), parts.of(expected.input.grad(), group.rank()), "input.grad");
    require_near(layer.tensors.weight.grad(), expected.tensors.weight.grad(), "weight.grad");
    require_near(layer.tensors.bias.grad(), expected.tensors.bias.grad(), "bias.grad");
    require_near(layer.tensors.running_mean, expected.tensors.running_mean, "running_mean");
    require_near(layer.tensors.running_var, expected.tensors.running_var, "running_var");
  });
}

TEST(SyncBatchNorm, IsOneProcessOverAllBatches) { expect_as_alone({6, kChannels}, {{2, 2, 2}}); }

TEST(SyncBatchNorm, TakesPictures) { expect_as_alone({4, kChannels, 5, 2}, {{2, 2}}); }

TEST(SyncBatchNorm, TakesBatchesOfDifferentSizes) {
  expect_as_alone({9, kChannels, 2}, {{1, 6, 2}});
}

TEST(SyncBatchNorm, TakesAnEmptyBatch) { expect_as_alone({5, kChannels}, {{3, 0, 2}}); }

TEST(SyncBatchNorm, WorksOnOneRank) { expect_as_alone({5, kChannels}, {{5}}); }

TEST(SyncBatchNorm, KeepsTheVarianceOfValuesWithALargeMean) {
  const at::Tensor spread = random_values({40, kChannels}, 5);
  const at::Tensor values = (spread + 1e4).to(at::kFloat);
  const at::Tensor exact = values.to(at::kDouble);
  const at::Tensor expected = (exact - exact.mean(0)) / exact.var(0, /*unbiased=*/false).sqrt();
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& group) {
    const Parts parts{{20, 20}};
    const at::Tensor output = sync_batch_norm(parts.of(values, group.rank()), {}, group);
    const at::Tensor gap = output.to(at::kDouble) - parts.of(expected, group.rank());
    // The mean itself is rounded to some 1e-3; sums of squares would be off by whole units.
    require(gap.abs().max().item<double>() < 5e-3, "the variance was lost");
  });
}

TEST(SyncBatchNorm, UsesTheRunningStatisticsWithoutTraining) {
  const at::Tensor values = random_values({4, kChannels}, 5);
  Layer expected;
  expected.alone(values, /*training=*/false);
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& group) {
    Layer layer;
    const at::Tensor before = layer.tensors.running_mean.clone();
    layer.over(group, values.narrow(0, 2 * group.rank(), 2), /*training=*/false);
    require_near(layer.output, expected.output.narrow(0, 2 * group.rank(), 2), "output");
    require_equal(layer.tensors.running_mean, before, "running_mean");
  });
}

TEST(SyncBatchNorm, NeedsABatchAndChannels) {
  on_ranks(Way::shared_threads, 1, [](const comm::Group& group) {
    EXPECT_THAT(error_of([&] { static_cast<void>(sync_batch_norm(at::ones({3}), {}, group)); }),
                ::testing::HasSubstr("got 1 dims"));
  });
}

}  // namespace
}  // namespace sheaf::testing
