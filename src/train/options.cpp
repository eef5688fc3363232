#include "sheaf/train/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "export.h"
#include "model_source.h"
#include "sheaf/base/error.h"
#include "sheaf/sharding/strategy.h"
#include "sheaf/train/baseline.h"
#include "sheaf/train/plan.h"

namespace sheaf::train {
namespace {

void check_precision(const RunOptions& options) {
  const bool on_cpu = options.comm.device == comm::DeviceKind::cpu;
  if (on_cpu && options.precision.compute == Compute::tf32) {
    throw UsageError("precision.compute = tf32 needs comm.device = cuda; on the CPU take fp32");
  }
  if (options.precision.master == Master::bf16 && options.precision.compute != Compute::bf16) {
    throw UsageError(
        fmt::format("precision.master = bf16 steps what bf16 computes with: set precision.compute "
                    "= bf16, not {}",
                    enum_name(options.precision.compute)));
  }
}

void check_mesh(const RunOptions& options, const sharding::Strategy& strategy, int ranks) {
  if (options.mesh.replicate > 1 && !strategy.hybrid) {
    throw UsageError(
        fmt::format("mesh.replicate = {} makes copies of a sharded model, which needs a hybrid "
                    "strategy: shard.stage = \"hybrid:{}\"",
                    options.mesh.replicate,
                    options.shard.stage));
  }
  if (strategy.hybrid && options.mesh.replicate == 1) {
    throw UsageError(
        fmt::format("shard.stage = {} needs copies of the model: mesh.replicate of at "
                    "least 2, not 1",
                    options.shard.stage));
  }
  if (options.mesh.shard == 0) throw UsageError("mesh.shard must be at least 1, or -1, not 0");
  const std::int64_t given = std::int64_t{options.mesh.replicate} * std::max(options.mesh.shard, 1);
  const bool fits = options.mesh.shard > 0 ? given == ranks : ranks % given == 0;
  if (!fits) {
    throw UsageError(fmt::format("mesh.replicate = {} and mesh.shard = {} do not make {} ranks",
                                 options.mesh.replicate,
                                 options.mesh.shard,
                                 ranks));
  }
}

void check_optimizer(const OptimizerSection& optimizer) {
  if (optimizer.nesterov && optimizer.kind == OptimizerKind::sgd && optimizer.momentum == 0) {
    throw UsageError("optimizer.nesterov needs optimizer.momentum above 0");
  }
}

/// A checkpoint without an evaluation can never be the best.
void check_keep_best(const RunOptions& options) {
  if (!options.train.evaluate) {
    throw UsageError("checkpoint.keep_best needs evaluations: set train.evaluate = true");
  }
  const std::int64_t saves = options.checkpoint.every;
  const std::int64_t evaluations = options.train.evaluate_every;
  if (saves > 0 && evaluations > 0 && saves % evaluations == 0) return;
  throw UsageError(
      fmt::format("checkpoint.keep_best needs an evaluation at every checkpoint: checkpoint.every "
                  "must be a multiple of train.evaluate_every, not {} of {}",
                  saves,
                  evaluations));
}

void check_checkpoint(const RunOptions& options) {
  const CheckpointSection& checkpoint = options.checkpoint;
  if (checkpoint.dir.empty() && checkpoint.every > 0) {
    throw UsageError(fmt::format(
        "checkpoint.every = {} needs checkpoint.dir, a folder for checkpoints", checkpoint.every));
  }
  if (checkpoint.keep_best) check_keep_best(options);
}

void check_profile(const RunOptions& options) {
  if (!recorded_steps(options.profile)) return;
  if (options.log.dir.empty()) {
    throw UsageError("profile.steps needs log.dir, the folder that traces are written to");
  }
}

}  // namespace

data::Data open_data(const RunOptions& options) {
  const models::Shape shape = shape_of(options);
  const bool is_images = options.data.source == data::Source::mnist;
  if (is_images == shape.is_language_model()) {
    throw UsageError(fmt::format("{} = {} learns {}, but data.source = {} has {}",
                                 options.model.from.empty() ? "model.preset" : "model.from",
                                 name_of_model(options.model),
                                 shape.is_language_model() ? "texts" : "images",
                                 enum_name(options.data.source),
                                 is_images ? "images" : "texts"));
  }
  data::Data data = data::open(options.data,
                               {.context = shape.context,
                                .vocabulary = shape.vocabulary,
                                .seed = static_cast<std::uint64_t>(options.train.seed)});
  if (data.info.vocabulary > shape.vocabulary) {
    throw UsageError(fmt::format("model.vocabulary must be at least {}, which the data has, not {}",
                                 data.info.vocabulary,
                                 shape.vocabulary));
  }
  return data;
}

void check_options(const RunOptions& options, int ranks) {
  const sharding::Strategy strategy = sharding::parse_strategy(options.shard.stage);
  check_mesh(options, strategy, ranks);
  check_precision(options);
  check_optimizer(options.optimizer);
  check_checkpoint(options);
  check_profile(options);
  check_faults(options, ranks);
  if (options.shard.prefetch && options.shard.max_gathered < 2) {
    throw UsageError(
        "shard.max_gathered = 1 leaves no room for the next unit: set shard.prefetch = false");
  }
  if (options.train.sample_tokens > 0 && options.train.sample_prompt.empty()) {
    throw UsageError("train.sample_prompt must not be empty: a text begins with something");
  }
}

void check(const RunOptions& options, int ranks) {
  check_options(options, ranks);
  // Not for ranks, which call the above: rank 0 alone reads it, and other hosts need not have it.
  if (!options.log.baseline.empty()) static_cast<void>(read_baseline(options.log.baseline));
  check_export(options, shape_of(options));
  const data::Data data = open_data(options);
  if (options.checkpoint.keep_best && data.evaluation == nullptr) {
    throw UsageError("checkpoint.keep_best needs evaluations, and the data has none held out");
  }
  static_cast<void>(plan_run(options, *data.training, ranks));
}

}  // namespace sheaf::train
