#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <array>
#include <set>

#include "arithmetic_of.h"
#include "assembly.h"
#include "comm/devices.h"
#include "comm/texts.h"
#include "model_source.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/limit.h"
#include "sheaf/sharding/strategy.h"
#include "sheaf/train/memory_use.h"
#include "sheaf/train/peak_flops.h"

namespace sheaf::train {
namespace {

PeakFlops peak_of(const RunOptions& options, const Assembly& parts) {
  const Arithmetic arithmetic = arithmetic_of(options.precision.compute);
  if (!parts.device.is_cpu()) return gpu_peak(device_name(parts.device), arithmetic);
  const comm::Group& world = parts.mesh.world();
  world.barrier().wait();
  const memory::LimitPause not_the_runs;
  PeakFlops peak = measure_cpu_peak(arithmetic);
  // What that took does not count as the most that the run held.
  memory::reset_cpu_peak();
  const at::Tensor mean = at::full({1}, peak.flops, at::kDouble);
  world.all_reduce(mean, {.reduction = comm::Reduction::average, .purpose = comm::Purpose::control})
      .wait();
  peak.flops = mean.item<double>();
  return peak;
}

/// Ranks on CPUs have cores of their own; of GPUs each counts once, however many ranks share it.
int count_devices(const comm::Group& world, at::Device device) {
  if (device.is_cpu()) return world.size();
  const auto gpus = comm::gather_texts(world, comm::identity_of_gpu(device.index()));
  return static_cast<int>(std::set(gpus.begin(), gpus.end()).size());
}

/// What the first step will have made: the optimizer's states are not there yet, nor, on a GPU,
/// gradients.
std::vector<std::pair<std::string, Bytes>> memory_by_purpose(const RunOptions& options,
                                                             const Assembly& parts) {
  Bytes masters;
  Bytes states;
  const auto num_states = static_cast<std::int64_t>(parts.optimizer->state_names().size());
  const auto& segments = parts.optimizer->slots()->segments();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto width = static_cast<std::int64_t>(c10::elementSize(parts.optimizer->state_type(s)));
    masters.count += static_cast<std::int64_t>(segments[s].master.nbytes());
    states.count += num_states * width * segments[s].master.numel();
  }
  const bool whole = sharding::parse_strategy(options.shard.stage).stage == Stage::zero1;
  const std::int64_t parts_kept = whole ? parts.mesh.size("shard") : 1;
  return {{"parameters", parts.state.ledger().current(memory::Purpose::parameters)},
          {"gradients", {masters.count * parts_kept}},
          {"optimizer", states}};
}

std::string describe_mesh(const comm::Mesh& mesh) {
  if (mesh.size("replicate") == 1) return "";
  return fmt::format("replicate {} x shard {}", mesh.size("replicate"), mesh.size("shard"));
}

std::string describe_batch(const RunOptions& options, const Assembly& parts) {
  const RunPlan& plan = parts.plan;
  std::string text = fmt::format("{} samples", options.batch.global);
  if (parts.shape.is_language_model()) text += fmt::format(" of {} tokens", parts.shape.context);
  text += fmt::format(", {} per rank and pass", plan.micro_batch);
  if (plan.accumulation > 1) text += fmt::format(", {} passes per step", plan.accumulation);
  return text;
}

}  // namespace

RunInfo describe_run(const RunOptions& options, const Assembly& parts) {
  const models::Cost cost = parts.model->cost();
  const PeakFlops peak = peak_of(options, parts);
  const comm::Group& world = parts.mesh.world();
  return {.item_name = parts.shape.is_language_model() ? "tokens" : "images",
          .model = name_of_model(options.model),
          .parameters = cost.parameters,
          .flops_per_item = cost.rule_flops,
          .ranks = world.size(),
          .devices = count_devices(world, parts.device),
          .strategy = to_string(sharding::parse_strategy(options.shard.stage)),
          .backend = std::string(world.backend()),
          .device = device_name(parts.device),
          .mesh = describe_mesh(parts.mesh),
          .precision = std::string(enum_name(options.precision.compute)),
          .data = parts.data.info.description,
          .batch = describe_batch(options, parts),
          .steps = parts.plan.steps,
          .memory = memory_by_purpose(options, parts),
          .peak_flops_per_device = peak.flops,
          .peak_source = peak.source};
}

std::vector<MemoryUse> gather_memory(const MemoryUse& own,
                                     const comm::Group& group,
                                     at::Device device) {
  constexpr std::array kFields = {&MemoryUse::allocated,
                                  &MemoryUse::peak_allocated,
                                  &MemoryUse::peak_active,
                                  &MemoryUse::reserved,
                                  &MemoryUse::resident,
                                  &MemoryUse::peak_resident};
  constexpr auto kNumFields = static_cast<std::int64_t>(kFields.size());
  const at::Tensor mine = at::empty({kNumFields}, at::kLong);
  for (std::int64_t f = 0; f < kNumFields; ++f) mine[f] = (own.*kFields[f]).count;
  const at::Tensor all = at::empty({kNumFields * group.size()}, mine.options().device(device));
  group.all_gather(all, mine.to(device), {.purpose = comm::Purpose::control}).wait();
  const at::Tensor rows = all.cpu().view({group.size(), kNumFields});
  std::vector<MemoryUse> uses(group.size());
  for (int rank = 0; rank < group.size(); ++rank) {
    for (std::int64_t f = 0; f < kNumFields; ++f) {
      (uses[rank].*kFields[f]).count = rows[rank][f].item<std::int64_t>();
    }
  }
  return uses;
}

}  // namespace sheaf::train
