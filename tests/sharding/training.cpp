#include "training.h"

#include <torch/optim/adamw.h>

#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr double kLearningRate = 1e-2;
constexpr double kWeightDecay = 0.1;
constexpr double kMaxNorm = 0.05;

/// Returns the samples that one rank has in one pass: those of a pass lie together.
Batch share(const Task& task, const Course& course, int step, int pass, const comm::Group& group) {
  Batch batch = task.batch(step, course.global_batch)
                    .part(pass, course.accumulation)
                    .part(group.rank(), group.size());
  if (batch.inputs.is_floating_point()) batch.inputs = batch.inputs.to(course.dtype);
  return {batch.inputs.to(course.device), batch.targets.to(course.device)};
}

}  // namespace

std::vector<at::Tensor> distinct_parameters(const torch::nn::Module& model) {
  std::vector<at::Tensor> distinct;
  for (const at::Tensor& parameter : model.parameters()) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const at::Tensor& other) {
      return other.is_same(parameter);
    });
    if (!known) distinct.push_back(parameter);
  }
  return distinct;
}

Outcome train_alone(const Task& task, const Course& course) {
  const auto model = task.build(std::nullopt);
  model->to(course.device, course.dtype);
  torch::optim::AdamW optimizer(
      distinct_parameters(*model),
      torch::optim::AdamWOptions(kLearningRate).weight_decay(kWeightDecay));
  const comm::Group one = comm::fake_group(1);
  Outcome outcome;
  for (int step = 0; step < course.steps; ++step) {
    optimizer.zero_grad();
    double sum = 0;
    for (int pass = 0; pass < course.accumulation; ++pass) {
      const Batch batch = share(task, course, step, pass, one);
      const at::Tensor loss =
          model->loss(batch.inputs, batch.targets) / static_cast<double>(course.global_batch);
      loss.backward();
      sum += loss.item<double>();
    }
    if (course.clip) torch::nn::utils::clip_grad_norm_(distinct_parameters(*model), kMaxNorm);
    optimizer.step();
    outcome.losses.push_back(sum);
  }
  for (const auto& item : model->named_parameters())
    outcome.values[item.key()] = item.value().cpu();
  for (const auto& item : model->named_buffers()) outcome.values[item.key()] = item.value().cpu();
  return outcome;
}

Outcome train_sharded(const Task& task, const Course& course, ShardOptions options) {
  const comm::Group world = options.group ? *options.group : options.mesh->world();
  const auto model = task.build(world);
  model->to(course.device, course.dtype);
  sharding::State state = shard(*model, options);
  optim::AdamW optimizer(state.slots(),
                         {.learning_rate = kLearningRate, .weight_decay = kWeightDecay});
  Outcome outcome;
  for (int step = 0; step < course.steps; ++step) {
    at::Tensor sum = at::zeros({1}, at::TensorOptions(course.device).dtype(at::kDouble));
    for (int pass = 0; pass < course.accumulation; ++pass) {
      std::optional<sharding::NoSyncScope> local;
      if (!course.exchange_each && pass + 1 < course.accumulation) local.emplace(state.no_sync());
      const Batch batch = share(task, course, step, pass, world);
      const at::Tensor loss = sheaf::forward(*model, batch.inputs, batch.targets) /
                              static_cast<double>(course.global_batch);
      if (course.in_backward && pass + 1 == course.accumulation) {
        require(optimizer.step_in_backward(), "it must be possible to step within backward");
      }
      loss.backward();
      sum += loss.detach();
    }
    if (course.clip) state.clip_gradients(kMaxNorm);
    optimizer.step();
    world.all_reduce(sum).wait();
    outcome.losses.push_back(sum.item<double>());
  }
  outcome.values = state.gather_full();
  return outcome;
}

void require_same_bits(const Outcome& actual, const Outcome& expected, const std::string& what) {
  require(actual.values.size() == expected.values.size(), what + ": another number of values");
  for (const auto& [name, value] : expected.values) {
    require_equal(actual.values.at(name), value, what + ": " + name);
  }
}

void require_close(const Outcome& actual,
                   const Outcome& expected,
                   double tolerance,
                   const std::string& what) {
  for (const auto& [name, value] : actual.values) {
    const double difference = (value.to(at::kDouble) - expected.values.at(name).to(at::kDouble))
                                  .abs()
                                  .max()
                                  .item<double>();
    require(difference <= tolerance,
            what + ": " + name + " differs by " + std::to_string(difference));
  }
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    require(std::abs(actual.losses[step] - expected.losses[step]) <= tolerance,
            what + ": the loss of step " + std::to_string(step) + " is " +
                std::to_string(actual.losses[step]) + " instead of " +
                std::to_string(expected.losses[step]));
  }
}

}  // namespace sheaf::testing
