#include "sheaf/sharding/shard.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <sstream>

#include "agreement.h"
#include "block_claims.h"
#include "engine.h"
#include "gradient_tap.h"
#include "quiet.h"
#include "sheaf/base/error.h"
#include "sheaf/module/deferred.h"
#include "unit_plan.h"

namespace sheaf {
namespace {

using namespace sharding;  // the engine's parts, which this file puts together

constexpr std::size_t kHandlesInModel = 2;  // the module's own member and its register

void check_options(const ShardOptions& options) {
  if (options.group.has_value() == options.mesh.has_value()) {
    throw UsageError(options.group ? "shard: give a group or a mesh, not both"
                                   : "shard: say over which ranks, by .group or .mesh");
  }
  if (options.max_gathered < 1) {
    throw UsageError(
        fmt::format("shard: max_gathered must be at least 1, got {}", options.max_gathered));
  }
  if (options.precision.compute && !c10::isFloatingType(*options.precision.compute)) {
    throw UsageError(fmt::format("shard: precision.compute must be a floating-point type, got {}",
                                 c10::toString(*options.precision.compute)));
  }
  const at::ScalarType master = options.precision.master;
  if (master != at::kFloat && options.precision.compute != master) {
    throw UsageError(
        fmt::format("shard: precision.master must be fp32 or the type of precision.compute, got {}",
                    c10::toString(master)));
  }
  const at::ScalarType reduce = options.precision.reduce;
  if (reduce != at::kFloat && reduce != at::kBFloat16 && reduce != at::kHalf) {
    throw UsageError(fmt::format("shard: precision.reduce must be fp32, bf16 or fp16, got {}",
                                 c10::toString(reduce)));
  }
}

void check_mesh(const comm::Mesh& mesh) {
  for (const layout::Axis& axis : mesh.shape().axes()) {
    if (axis.name == "shard" || axis.name == "replicate") continue;
    throw UsageError(fmt::format(
        "shard: the axes of its mesh are \"replicate\" and \"shard\", got \"{}\"", axis.name));
  }
}

bool has_axis(const comm::Mesh& mesh, std::string_view name) {
  const auto& axes = mesh.shape().axes();
  return std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return axis.name == name; });
}

Context make_context(const ShardOptions& options, at::Device device) {
  if (options.group) {
    return {options,
            *options.group,
            *options.group,
            std::nullopt,
            device,
            ExchangeStream(device, options.group->recorder())};
  }
  const comm::Mesh& mesh = *options.mesh;
  check_mesh(mesh);
  if (!has_axis(mesh, "shard")) {
    throw UsageError("shard: the mesh needs an axis named \"shard\"");
  }
  std::optional<comm::Group> replicate;
  if (has_axis(mesh, "replicate") && mesh.size("replicate") > 1)
    replicate = mesh.group("replicate");
  return {options,
          mesh.world(),
          mesh.group("shard"),
          replicate,
          device,
          ExchangeStream(device, mesh.world().recorder())};
}

at::Device device_of(const Inventory& inventory, const ShardOptions& options) {
  if (inventory.parameters.empty()) {
    throw UsageError("shard: the model has no parameters");
  }
  const at::Device device = inventory.parameters.front().tensor.device();
  for (const ParameterInfo& info : inventory.parameters) {
    if (info.tensor.device() == device) continue;
    throw UsageError(
        fmt::format("shard: all parameters must be on one device, got {} on {} and {} on {}",
                    inventory.parameters.front().name,
                    device.str(),
                    info.name,
                    info.tensor.device().str()));
  }
  return options.device.value_or(device);
}

void check_parameters(const Inventory& inventory) {
  for (const ParameterInfo& info : inventory.parameters) {
    if (info.trainable && is_tapped(info.tensor)) {
      throw UsageError(fmt::format(
          "shard: {} belongs to a sharded model already; its state must end first", info.name));
    }
    if (!info.trainable || c10::isFloatingType(info.tensor.scalar_type())) continue;
    throw UsageError(fmt::format(
        "shard: trainable parameters must be real floating-point tensors, got {} of type {}",
        info.name,
        c10::toString(info.tensor.scalar_type())));
  }
}

/// Tells whether a parameter itself is what an optimizer steps. See Note [Handles].
bool steps_own(const ParameterInfo& info, const ShardOptions& options) {
  const at::ScalarType stored = info.tensor.scalar_type();
  const bool has_master = stored != at::kFloat && stored != at::kDouble;
  return options.stage == Stage::ddp && !has_master &&
         options.precision.compute.value_or(stored) == stored;
}

/// An optimizer holds one more handle of every parameter than the model does. See shard(). Most are
/// enough: a parameter that is registered without a member of its own has one handle less.
void check_handles(const Inventory& inventory, const ShardOptions& options) {
  if (options.allow_outside_handles) return;
  std::size_t trainable = 0;
  std::size_t held = 0;
  for (const ParameterInfo& info : inventory.parameters) {
    if (!info.trainable || steps_own(info, options)) continue;
    ++trainable;
    // The inventory has one too, and each name that ties it another two.
    const std::size_t expected = 1 + kHandlesInModel * (1 + info.aliases.size());
    held += info.tensor.use_count() > expected ? 1 : 0;
  }
  if (2 * held <= trainable) return;
  throw UsageError(
      fmt::format("shard: someone outside of the model holds its parameters, probably an optimizer "
                  "built before; "
                  "build it afterwards from state.slots() or state.parameters(), or set "
                  "allow_outside_handles if "
                  "it is something else; held are {} of {}",
                  held,
                  trainable));
}

std::vector<std::string> describe_model(const Inventory& inventory) {
  std::vector<std::string> lines;
  for (const ParameterInfo& info : inventory.parameters) {
    std::ostringstream line;
    line << (info.trainable ? "parameter " : "frozen parameter ") << info.name << " "
         << info.tensor.sizes() << " " << info.tensor.scalar_type();
    for (const std::string& alias : info.aliases) line << " tied to " << alias;
    lines.push_back(line.str());
  }
  for (const BufferInfo& info : inventory.buffers) {
    std::ostringstream line;
    line << "buffer " << info.name << " " << info.tensor.sizes() << " "
         << info.tensor.scalar_type();
    lines.push_back(line.str());
  }
  return lines;
}

std::vector<std::string> describe_options(const ShardOptions& options) {
  const auto type = [](const std::optional<at::ScalarType>& dtype) {
    return dtype ? c10::toString(*dtype) : "as given";
  };
  std::vector<std::string> lines{
      fmt::format("stage {}", static_cast<int>(options.stage)),
      fmt::format("precision {} {} {} {}",
                  type(options.precision.compute),
                  c10::toString(options.precision.master),
                  c10::toString(options.precision.reduce),
                  type(options.precision.buffers)),
      fmt::format("prefetch {}, max_gathered {}, wake {}",
                  options.prefetch,
                  options.max_gathered,
                  static_cast<int>(options.wake)),
      fmt::format("gradient_scale {}, no_sync {}, find_unused {}",
                  options.gradient_scale,
                  static_cast<int>(options.no_sync),
                  options.find_unused),
      fmt::format("trace_non_finite {}", options.trace_non_finite),
      fmt::format("buffer_sync {}, broadcast_start {}, starts_blank {}, seed {}, a reduce hook: {}",
                  static_cast<int>(options.buffer_sync),
                  options.broadcast_start,
                  options.starts_blank,
                  options.seed,
                  options.reduce_hook != nullptr),
      fmt::format("policy {}, wrap types [{}], names [{}], min_parameters {}",
                  static_cast<int>(options.policy),
                  fmt::join(options.wrap.types, ", "),
                  fmt::join(options.wrap.names, ", "),
                  options.wrap.min_parameters)};
  return lines;
}

std::vector<std::string> describe_units(const std::vector<UnitPlan>& plans) {
  std::vector<std::string> lines;
  for (const UnitPlan& plan : plans) {
    lines.push_back(fmt::format("unit \"{}\" with {} parameters, reshard_after_forward {}",
                                plan.name,
                                plan.parameters.size(),
                                plan.reshard_after_forward));
  }
  return lines;
}

/// Where parameters are whole, frozen ones belong to no unit, but they must agree all the same.
void settle_frozen(const Context& context, const Inventory& inventory) {
  const Quiet quiet;
  for (const ParameterInfo& info : inventory.parameters) {
    if (info.trainable || context.cuts_parameters()) continue;
    at::Tensor parameter = info.tensor;
    const auto compute = context.options.precision.compute;
    const bool deferred = module::is_deferred(parameter);
    at::Tensor values = deferred
                            ? at::empty(parameter.sizes(), parameter.options().requires_grad(false))
                            : parameter.detach().contiguous();
    if (deferred) module::fill_deferred(parameter, values, context.options.seed, info.name);
    values = values.to(context.device);
    if (context.options.broadcast_start && !deferred) {
      context.world.broadcast(values, 0, {.purpose = comm::Purpose::parameters}).wait();
    }
    if (compute && values.is_floating_point()) values = values.to(*compute);
    parameter.set_data(values);
  }
}

}  // namespace

State shard(torch::nn::Module& model, const ShardOptions& options) {
  check_options(options);
  Inventory inventory = take_inventory(model);
  const std::vector<BlockClaim> claims = take_block_claims(inventory);
  Context context = make_context(options, device_of(inventory, options));
  check_agreement(context.world, describe_model(inventory), "models");
  // Before anything that refuses what is wrong on one rank alone: the others would wait for it.
  check_agreement(context.world, describe_options(options), "options for shard()");
  check_parameters(inventory);
  check_handles(inventory, options);
  const std::vector<UnitPlan> plans = plan_units(inventory, options, claims);
  check_agreement(context.world, describe_units(plans), "units of shard()");
  settle_frozen(context, inventory);
  const auto engine = std::make_shared<Engine>(std::move(context), std::move(inventory), plans);
  engine->attach();
  return State(engine);
}

State replicate(torch::nn::Module& model, ShardOptions options) {
  options.stage = Stage::ddp;
  return shard(model, options);
}

void fully_shard(torch::nn::Module& block, const BlockOptions& options) {
  add_block_claim(block, options);
}

}  // namespace sheaf
