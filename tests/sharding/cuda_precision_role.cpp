#include <ATen/Context.h>
#include <fmt/format.h>

#include <cmath>

#include "sharding/cuda_roles.h"
#include "sharding/trials.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/loss_scaler.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr int kSteps = 8;
constexpr std::int64_t kGlobalBatch = 36;
// Far below what would overflow, so that all runs take all steps.
constexpr double kLossScale = 128;

struct Precision {
  const char* name;
  std::optional<at::ScalarType> compute;
  bool tf32;
  /// How far losses may be from those of one rank, relative to them: a few roundings of the type,
  /// in which the loss is, too.
  double tolerance;
};

std::vector<Precision> precisions(at::Device device) {
  std::vector<Precision> all{{"fp32", std::nullopt, false, 1e-5},
                             {"bf16", at::kBFloat16, false, 1e-2},
                             {"fp16", at::kHalf, false, 2e-3}};
  if (!device.is_cpu()) all.push_back({"tf32", std::nullopt, true, 2e-3});
  return all;
}

/// Returns the losses of some steps over the ranks of the options.
std::vector<double> losses_of(const Precision& precision, ShardOptions options, at::Device device) {
  const comm::Group world = options.group ? *options.group : options.mesh->world();
  const Task task = gpt_task();
  const auto model = task.build(world);
  model->to(device);
  options.precision.compute = precision.compute;
  const sharding::State state = shard(*model, options);
  optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-3});
  sharding::LossScaler scaler(state, {.initial_scale = kLossScale});
  const bool scaled = precision.compute == at::kHalf;
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch = task.batch(step, kGlobalBatch).part(world.rank(), world.size());
    const at::Tensor loss =
        sheaf::forward(*model, batch.inputs.to(device), batch.targets.to(device)) /
        static_cast<double>(kGlobalBatch);
    (scaled ? scaler.scale(loss) : loss).backward();
    if (scaled) require(scaler.unscale(), "gradients overflowed");
    state.clip_gradients(1.0);
    optimizer.step();
    const at::Tensor sum = loss.detach().to(at::kFloat).view({1}).clone();
    world.all_reduce(sum).wait();
    losses.push_back(sum.item<double>());
  }
  return losses;
}

void require_alike(const std::vector<double>& actual,
                   const std::vector<double>& expected,
                   double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    require(std::abs(actual[i] - expected[i]) <= tolerance * expected[i],
            fmt::format("the loss of step {} is {} instead of {}", i, actual[i], expected[i]));
  }
}

}  // namespace

void mixed_precision_role(const RoleContext& context) {
  const comm::Group alone = context.world.split(context.world.rank());
  for (const Precision& precision : precisions(context.device)) {
    at::globalContext().setAllowTF32CuBLAS(precision.tf32);
    const auto expected =
        losses_of(precision, {.group = alone, .stage = Stage::ddp}, context.device);
    context.report.check(std::string(precision.name) + " learns", [&] {
      require(expected.back() < expected.front(), fmt::format("{}", expected.back()));
    });
    for (const Strategy& strategy : stages()) {
      const auto actual = losses_of(precision, over(strategy, context.world), context.device);
      context.report.check(std::string(precision.name) + ", " + strategy.name,
                           [&] { require_alike(actual, expected, precision.tolerance); });
    }
  }
  at::globalContext().setAllowTF32CuBLAS(false);
}

}  // namespace sheaf::testing
