// Buffers at the start and after each step.
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using sharding::BufferSync;

struct Normed final : TinyModel {
  Normed()
      : norm(register_module("norm", torch::nn::BatchNorm1d(kFeatures))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(sheaf::forward(*head, norm(inputs)), targets);
  }
  torch::nn::BatchNorm1d norm;
  Layer head;
};

Normed& normed(const std::shared_ptr<TinyModel>& model) { return dynamic_cast<Normed&>(*model); }

/// Returns the running mean that a rank of two has after one pass by itself.
at::Tensor local_mean(int rank) { return random_batch(0).part(rank, 2).inputs.mean(0) * 0.1; }

void require_near(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  require((actual - expected).abs().max().item<double>() < 1e-12, what);
}

/// Takes one step on two ranks and hands each rank's running mean to `check`.
void after_one_step(
    BufferSync sync,
    const std::function<void(const at::Tensor& mean, int rank, const std::string& stage)>& check) {
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.buffer_sync = sync;
    const auto model = built<Normed>();
    const sharding::State state = shard(*model, options);
    one_pass(*model, random_batch(0).part(options.group->rank(), 2));
    check(normed(model).norm->running_mean, options.group->rank(), stage);
    require(normed(model).norm->num_batches_tracked.item<int>() == 1, stage + ": count");
  });
}

TEST(Buffers, StartAsThoseOfRankZero) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Normed>();
    normed(model).norm->running_mean.fill_(options.group->rank() + 1);
    normed(model).norm->num_batches_tracked.fill_(options.group->rank() + 5);
    const sharding::State state = shard(*model, options);
    require(normed(model).norm->running_mean.eq(1).all().item<bool>(), stage);
    require(normed(model).norm->num_batches_tracked.item<int>() == 5, stage);
  });
}

TEST(Buffers, StayDifferentWhereTheStartIsNotBroadcast) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.broadcast_start = false;
    const auto model = built<Normed>();
    normed(model).norm->running_mean.fill_(options.group->rank() + 1);
    const sharding::State state = shard(*model, options);
    const at::Tensor mean = normed(model).norm->running_mean;
    require(mean.eq(options.group->rank() + 1).all().item<bool>(), stage);
  });
}

TEST(Buffers, StayLocalWithoutSync) {
  after_one_step(BufferSync::none, [](const at::Tensor& mean, int rank, const std::string& stage) {
    require_near(mean, local_mean(rank), stage);
  });
}

TEST(Buffers, BecomeThoseOfRankZeroWhenBroadcast) {
  after_one_step(BufferSync::broadcast, [](const at::Tensor& mean, int, const std::string& stage) {
    require_near(mean, local_mean(0), stage);
  });
}

TEST(Buffers, BecomeTheAverageWhenAveraged) {
  after_one_step(BufferSync::average, [](const at::Tensor& mean, int, const std::string& stage) {
    require_near(mean, (local_mean(0) + local_mean(1)) / 2, stage);
  });
}

TEST(Buffers, StayLocalInPassesWithoutExchange) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Normed>();
    const sharding::State state = shard(*model, options);
    const auto local = state.no_sync();
    one_pass(*model, random_batch(0).part(options.group->rank(), 2));
    require_near(normed(model).norm->running_mean, local_mean(options.group->rank()), stage);
  });
}

}  // namespace
}  // namespace sheaf::testing
