#include "sheaf/train/prediction.h"

#include "divided_up.h"
#include "model_source.h"
#include "sheaf/sharding/strategy.h"

namespace sheaf::train {
namespace {

plan::Stage stage_of(Stage stage) {
  switch (stage) {
    case Stage::ddp:
      return plan::Stage::ddp;
    case Stage::zero1:
      return plan::Stage::zero1;
    case Stage::zero2:
      return plan::Stage::zero2;
    case Stage::zero3:
      break;
  }
  return plan::Stage::zero3;
}

int num_states(const OptimizerSection& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

plan::Setting setting_of(const RunOptions& options, int ranks) {
  const sharding::Strategy strategy = sharding::parse_strategy(options.shard.stage);
  const std::int64_t share = divided_up(options.batch.global, ranks);
  const std::int64_t micro = options.batch.micro > 0 ? options.batch.micro : share;
  return {.stage = stage_of(strategy.stage),
          .flat = strategy.policy == sharding::Policy::flat,
          .reshard_after_forward = strategy.reshard_after_forward,
          .shard = ranks / options.mesh.replicate,
          .replicate = options.mesh.replicate,
          .compute = number_of(options.precision.compute),
          .reduce = number_of(options.precision.reduce),
          .micro_batch = micro,
          .accumulation = divided_up(share, micro),
          .optimizer_states = num_states(options.optimizer),
          .moments = options.optimizer.moments == optim::Moments::bf16 ? plan::Number::bf16
                                                                       : plan::Number::fp32,
          .clips = options.optimizer.clip > 0,
          .buckets = {.cap = options.shard.bucket, .first_cap = options.shard.first_bucket},
          .prefetch = options.shard.prefetch,
          .reduces_every_pass = options.shard.no_sync == NoSync::reduce,
          .device =
              options.comm.device == comm::DeviceKind::cpu ? plan::Device::cpu : plan::Device::gpu,
          .fused = options.model.fused.norm && options.model.fused.mlp,
          .batches_ahead = options.data.workers > 0 ? options.data.prefetch : 0};
}

}  // namespace

plan::Number number_of(Compute compute) {
  if (compute == Compute::bf16) return plan::Number::bf16;
  return compute == Compute::fp16 ? plan::Number::fp16 : plan::Number::fp32;
}

plan::Number number_of(Reduce reduce) {
  if (reduce == Reduce::bf16) return plan::Number::bf16;
  return reduce == Reduce::fp16 ? plan::Number::fp16 : plan::Number::fp32;
}

std::optional<plan::Architecture> architecture_of(const models::Shape& shape) {
  if (!shape.is_language_model()) return std::nullopt;
  return plan::Architecture{
      .family = shape.family == models::Family::gpt2 ? plan::Family::gpt2 : plan::Family::llama,
      .layers = shape.layers,
      .width = shape.width,
      .heads = shape.heads,
      .kv_heads = shape.kv_heads,
      .head_size = shape.head_size,
      .hidden = shape.hidden,
      .vocabulary = shape.vocabulary,
      .context = shape.context,
      .dropout = shape.dropout,
      .attention_dropout = shape.attention_dropout,
      .no_rope_interval = shape.no_rope_interval,
      .tied_embeddings = shape.tied_embeddings};
}

std::optional<plan::PlannedRun> planned_run(const RunOptions& options, int ranks) {
  const auto model = architecture_of(shape_of(options));
  if (!model || options.shard.min_parameters > 0) return std::nullopt;
  return plan::PlannedRun{.model = *model, .setting = setting_of(options, ranks)};
}

}  // namespace sheaf::train
