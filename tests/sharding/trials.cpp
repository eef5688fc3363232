#include "trials.h"

#include <torch/optim/adamw.h>

#include "sharding/training.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr double kLearningRate = 1e-2;
constexpr double kWeightDecay = 0.1;

}  // namespace

at::Tensor mean_loss(TinyModel& model, const Batch& batch) {
  return sheaf::forward(model, batch.inputs, batch.targets) / static_cast<double>(kSamples);
}

void one_pass(TinyModel& model, const Batch& batch) { mean_loss(model, batch).backward(); }

Batch random_batch(std::int64_t step) {
  at::Generator random =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(100 + step));
  return {at::randn({kSamples, kFeatures}, random, at::kDouble),
          at::randint(kClasses, {kSamples}, random, at::kLong)};
}

std::vector<Strategy> stages() {
  const layout::BucketOptions buckets{.cap = {200}, .first_cap = {50}};
  return {{"ddp", {.stage = Stage::ddp, .buckets = buckets}},
          {"zero1", {.stage = Stage::zero1, .buckets = buckets}},
          {"zero2", {.stage = Stage::zero2, .buckets = buckets}},
          {"zero3, touch", {.wake = sharding::Wake::touch}},
          {"zero3, boundary", {.wake = sharding::Wake::boundary}}};
}

void with_stages(int num_ranks, const std::function<void(ShardOptions, const std::string&)>& body) {
  for (const Strategy& strategy : stages()) {
    on_ranks(Way::shared_threads, num_ranks, [&](const comm::Group& world) {
      body(over(strategy, world), strategy.name);
    });
  }
}

sharding::NamedTensors values_of(const torch::nn::Module& model) {
  sharding::NamedTensors values;
  for (const auto& item : model.named_parameters()) values[item.key()] = item.value().detach();
  for (const auto& item : model.named_buffers()) values[item.key()] = item.value();
  return values;
}

void require_close(const sharding::NamedTensors& actual,
                   const sharding::NamedTensors& expected,
                   double tolerance,
                   const std::string& what) {
  for (const auto& [name, value] : actual) {
    const at::Tensor gap = value.to(at::kDouble) - expected.at(name).to(at::kDouble);
    const double largest = gap.numel() == 0 ? 0 : gap.abs().max().item<double>();
    require(largest <= tolerance, what + ": " + name + " differs by " + std::to_string(largest));
  }
}

sharding::NamedTensors train_alone(const Trial& trial) {
  const auto model = trial.build();
  torch::optim::AdamW optimizer(
      distinct_parameters(*model),
      torch::optim::AdamWOptions(kLearningRate).weight_decay(kWeightDecay));
  for (int step = 0; step < trial.steps; ++step) {
    optimizer.zero_grad();
    trial.pass(*model, trial.batch(step));
    optimizer.step();
  }
  return values_of(*model);
}

sharding::NamedTensors train_sharded(const Trial& trial, const ShardOptions& options) {
  const comm::Group& world = *options.group;
  const auto model = trial.build();
  const sharding::State state = shard(*model, options);
  optim::AdamW optimizer(state.slots(),
                         {.learning_rate = kLearningRate, .weight_decay = kWeightDecay});
  for (int step = 0; step < trial.steps; ++step) {
    trial.pass(*model, trial.batch(step).part(world.rank(), world.size()));
    optimizer.step();
  }
  return state.gather_full();
}

void expect_same_as_alone(const Trial& trial, int num_ranks, bool find_unused) {
  const sharding::NamedTensors expected = train_alone(trial);
  with_stages(num_ranks, [&](ShardOptions options, const std::string& stage) {
    options.find_unused = find_unused;
    require_close(train_sharded(trial, options), expected, trial.tolerance, stage);
  });
}

}  // namespace sheaf::testing
