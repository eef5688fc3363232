#include <fmt/format.h>

#include <cmath>

#include "support/on_ranks.h"
#include "train/cuda_roles.h"
#include "train/small_runs.h"

namespace sheaf::testing {
namespace {

using train::Compute;
using train::Recorder;
using train::RunOptions;

struct Case {
  std::string stage;
  Compute compute = Compute::fp32;
  /// How far losses, which are near 5, may be from those of one rank.
  double tolerance = 1e-4;
  int replicate = 1;
};

RunOptions options_of(const Case& given, at::Device device) {
  RunOptions options = train::small_run();
  options.comm.device = device.is_cpu() ? comm::DeviceKind::cpu : comm::DeviceKind::cuda;
  options.shard.stage = given.stage;
  options.precision.compute = given.compute;
  options.precision.scaler.initial_scale = 128;
  options.mesh.replicate = given.replicate;
  options.model.dropout = 0.1;
  options.train.sample_tokens = 16;
  options.train.sample_temperature = 0;
  return options;
}

std::shared_ptr<Recorder> record(const RunOptions& options, const comm::Group& group) {
  auto recorder = std::make_shared<Recorder>();
  train::set_up_process(options);
  static_cast<void>(train::run(options, group, {.sinks = {recorder}}));
  return recorder;
}

void require_same(const Recorder& many, const Recorder& one, const Case& given) {
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    const double gap = std::abs(many.steps.at(i).loss - one.steps[i].loss);
    require(
        gap <= given.tolerance,
        fmt::format(
            "the loss of step {} is {} instead of {}", i, many.steps[i].loss, one.steps[i].loss));
    require(many.steps[i].sample_hash == one.steps[i].sample_hash, "other samples");
  }
  const double gap = std::abs(many.evaluations.back().loss - one.evaluations.back().loss);
  require(gap <= given.tolerance, fmt::format("evaluations differ by {}", gap));
  // Weights that differ by rounding may prefer another token; in fp32 they hardly do.
  if (given.compute == Compute::fp32) require(many.samples == one.samples, "another text");
}

/// Steps of several ranks compute and exchange, and nothing is lost of their time.
void require_accounted(const Recorder& run) {
  for (const train::StepRecord& step : run.steps) {
    require(step.phases.total() == step.time, "phases do not add up to the step");
    require(step.phases.idle.count() >= 0, "more than a step was accounted for");
    require(step.phases.compute().count() > 0, "a step without compute");
    require(step.phases.communication().count() > 0, "a step without communication");
    require(!step.collectives.empty(), "a step without collectives");
  }
}

std::vector<Case> cases(int ranks, at::Device device) {
  std::vector<Case> all;
  for (const char* stage : {"ddp:flat", "ddp", "zero1", "zero2", "zero3"}) all.push_back({stage});
  for (const char* stage : {"ddp", "zero3"}) {
    all.push_back({stage, Compute::bf16, 3e-2});
    all.push_back({stage, Compute::fp16, 1e-2});
    if (!device.is_cpu()) all.push_back({stage, Compute::tf32, 1e-2});
  }
  if (ranks % 2 == 0) all.push_back({.stage = "hybrid:zero3", .replicate = 2});
  return all;
}

}  // namespace

void trainer_role(const RoleContext& context) {
  const comm::Group alone = context.world.split(context.world.rank());
  for (const Case& given : cases(context.world.size(), context.device)) {
    RunOptions options = options_of(given, context.device);
    const auto many = record(options, context.world);
    options.shard.stage = "ddp";
    options.mesh.replicate = 1;
    const auto one = record(options, alone);
    const std::string name = fmt::format("{}, {}", given.stage, static_cast<int>(given.compute));
    // Only the first rank is told how a run goes.
    if (context.world.rank() != 0) continue;
    context.report.check("trainer, " + name, [&] { require_same(*many, *one, given); });
    context.report.check("accounting, " + name, [&] { require_accounted(*many); });
  }
}

}  // namespace sheaf::testing
