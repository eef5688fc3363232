#include "one_rank.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <ATen/ops/randint.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "gpt.h"
#include "gpt2.h"
#include "median.h"
#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

namespace sheaf::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Batch {
  at::Tensor tokens;
  at::Tensor targets;
};

/// Returns the same random texts as the Python side. They are trained on again and again, so the
/// loss falls.
Batch random_batch(int rank, std::int64_t size, const GptOptions& model) {
  at::Generator random =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(rank + 1));
  const auto draw = [&] {
    return at::randint(model.vocabulary, {size, model.context}, random, at::kLong);
  };
  at::Tensor tokens = draw();
  return {std::move(tokens), draw()};
}

double rss_mb(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != fmt::format("{}:", field)) continue;
    double kibibytes = 0;
    status >> kibibytes;
    return kibibytes * 1024 / 1e6;
  }
  throw Error(fmt::format("/proc/self/status has no {}", field));
}

Stage stage_of(const std::string& name) {
  for (const Strategy& each : kStrategies) {
    if (name == each.name) return each.stage;
  }
  if (name == kAlone.name) return kAlone.stage;
  throw UsageError(
      fmt::format("--strategy must be alone, ddp, zero1, zero2 or zero3, not '{}'", name));
}

double mean_over_ranks(const at::Tensor& loss, const comm::Group& group) {
  const at::Tensor mean = loss.detach().clone();
  group.all_reduce(mean, {.reduction = comm::Reduction::average}).wait();
  return mean.item<double>();
}

struct Training {
  std::vector<double> step_seconds;
  double last_loss = 0;
};

/// `loss_of` runs a forward pass and returns the mean loss.
template <class Model, class Loss>
Training train(Model& model,
               const Loss& loss_of,
               const RunOptions& options,
               const comm::Group& group) {
  const auto state = shard(
      model,
      {.group = group, .stage = stage_of(options.strategy), .gradient_scale = 1.0 / group.size()});
  optim::AdamW optimizer(state.slots(), {.learning_rate = options.learning_rate});
  Training training;
  at::Tensor loss;
  for (int step = 0; step < options.warm_up + options.steps; ++step) {
    const auto began = Clock::now();
    loss = loss_of(model);
    loss.backward();
    optimizer.step();
    const std::chrono::duration<double> took = Clock::now() - began;
    if (step >= options.warm_up) training.step_seconds.push_back(took.count());
  }
  training.last_loss = mean_over_ranks(loss, group);
  return training;
}

Training train_model(const Batch& batch, const RunOptions& options, const comm::Group& group) {
  if (options.model == "plain") {
    Gpt model{GptOptions()};
    return train(
        model,
        [&](Gpt& gpt) { return sheaf::forward(gpt, batch.tokens, batch.targets); },
        options,
        group);
  }
  const auto model = same_as_gpt2(GptOptions());
  const double scale = 1.0 / static_cast<double>(batch.targets.numel());
  return train(
      *model,
      [&](models::Model& gpt) {
        return sheaf::forward(gpt, batch.tokens, batch.targets, models::Pass{}) * scale;
      },
      options,
      group);
}

}  // namespace

void train_one_rank(const RunOptions& options, const comm::Group& group) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  at::set_num_threads(std::max(1, cores / group.size()));
  const GptOptions shape;
  const Batch batch = random_batch(group.rank(), batch_per_rank(options, group.size()), shape);
  const Training training = train_model(batch, options, group);
  if (group.rank() != 0) return;
  const double tokens = static_cast<double>(batch.tokens.numel()) * group.size();
  const nlohmann::json line = {{"tokens_per_second", tokens / median(training.step_seconds)},
                               {"peak_mb", rss_mb("VmHWM")},
                               {"loss", training.last_loss}};
  std::cout << line.dump() << std::endl;
}

}  // namespace sheaf::bench
