#include "sheaf/train/parallelize.h"

#include "comm/environment.h"
#include "comm/world.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/sharding/strategy.h"

namespace sheaf::train {
namespace {

std::optional<at::ScalarType> compute_type(Compute compute) {
  switch (compute) {
    case Compute::bf16:
      return at::kBFloat16;
    case Compute::fp16:
      return at::kHalf;
    case Compute::fp32:
    case Compute::tf32:
      break;
  }
  return std::nullopt;
}

at::ScalarType reduce_type(Reduce reduce) {
  switch (reduce) {
    case Reduce::bf16:
      return at::kBFloat16;
    case Reduce::fp16:
      return at::kHalf;
    case Reduce::fp32:
      break;
  }
  return at::kFloat;
}

sharding::WrapOptions wrap_of(const models::Model& model,
                              const ShardSection& options,
                              sharding::Policy policy) {
  if (policy == sharding::Policy::flat) return {};
  if (options.min_parameters > 0) return {.min_parameters = options.min_parameters};
  return {.names = model.blocks()};
}

}  // namespace

at::Device device_of(const comm::InitOptions& options) {
  if (options.device == comm::DeviceKind::cpu) return at::kCPU;
  return comm::gpu_of(comm::read_environment(comm::process_variable));
}

comm::Mesh make_mesh(const MeshOptions& options, const comm::Group& world) {
  return {world, {{"replicate", options.replicate}, {"shard", options.shard}}};
}

sharding::State parallelize(models::Model& model,
                            const RunOptions& options,
                            const comm::Mesh& mesh) {
  const sharding::Strategy strategy = sharding::parse_strategy(options.shard.stage);
  ShardOptions shard_options{
      .mesh = mesh,
      .device = device_of(options.comm),
      .stage = strategy.stage,
      .policy = strategy.policy,
      .buckets = {.cap = options.shard.bucket, .first_cap = options.shard.first_bucket},
      .wrap = wrap_of(model, options.shard, strategy.policy),
      .precision = {.compute = compute_type(options.precision.compute),
                    .master = options.precision.master == Master::bf16 ? at::kBFloat16 : at::kFloat,
                    .reduce = reduce_type(options.precision.reduce)},
      .wake = options.shard.wake,
      .reshard_after_forward = strategy.reshard_after_forward,
      .prefetch = options.shard.prefetch,
      .max_gathered = options.shard.max_gathered,
      .overlap = options.shard.overlap,
      .gradients_beside = options.shard.gradients_beside,
      .no_sync = options.shard.no_sync,
      .trace_non_finite = options.fault.trace_nonfinite,
      .seed = static_cast<std::uint64_t>(options.train.seed)};
  if (options.model.from.empty()) return shard(model, shard_options);
  const hub::ModelFolder folder(options.model.from);
  shard_options.starts_blank = true;
  sharding::State state = shard(model, shard_options);
  state.load(
      [&](const sharding::Slice& slice) { folder.read(slice.name, slice.begin, slice.values); });
  return state;
}

}  // namespace sheaf::train
