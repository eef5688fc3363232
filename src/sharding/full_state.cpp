#include "full_state.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <set>

#include "comm/texts.h"
#include "quiet.h"
#include "sheaf/base/error.h"
#include "slices.h"

namespace sheaf::sharding {
namespace {

/// Returns a segment's masters of all ranks end to end.
at::Tensor whole_master(const Context& context, const Segment& segment) {
  if (!context.cuts_state()) return segment.master();
  const at::Tensor whole = at::empty({segment.layout().size()}, segment.master().options());
  context.shard
      .all_gather(whole, segment.master().contiguous(), {.purpose = comm::Purpose::parameters})
      .wait();
  return whole;
}

at::Tensor copy_to_cpu(const at::Tensor& tensor) {
  return tensor.device().is_cpu() ? tensor.clone() : tensor.cpu();
}

const at::Tensor* find(const NamedTensors& values,
                       const std::string& name,
                       const std::vector<std::string>& aliases) {
  const auto found = values.find(name);
  if (found != values.end()) return &found->second;
  for (const std::string& alias : aliases) {
    const auto other = values.find(alias);
    if (other != values.end()) return &other->second;
  }
  return nullptr;
}

std::string problem_with(const at::Tensor* value, const std::string& name, at::IntArrayRef shape) {
  if (value == nullptr) return fmt::format("{} is missing", name);
  if (value->sizes() == shape) return "";
  std::ostringstream text;
  text << name << " has shape " << value->sizes() << ", the model's has " << shape;
  return text.str();
}

/// Returns what keeps the values from fitting the model; empty if nothing does.
std::string problem_with(const Inventory& inventory, const NamedTensors& values) {
  std::set<std::string> known;
  for (const ParameterInfo& info : inventory.parameters) {
    known.insert(info.name);
    known.insert(info.aliases.begin(), info.aliases.end());
    const std::string problem =
        problem_with(find(values, info.name, info.aliases), info.name, info.tensor.sizes());
    if (!problem.empty()) return problem;
  }
  for (const BufferInfo& info : inventory.buffers) {
    known.insert(info.name);
    const auto found = values.find(info.name);
    const std::string problem = problem_with(
        found == values.end() ? nullptr : &found->second, info.name, info.tensor.sizes());
    if (!problem.empty()) return problem;
  }
  for (const auto& [name, value] : values) {
    if (!known.contains(name)) return fmt::format("the model has no {}", name);
  }
  return "";
}

void load_segment(Engine& engine, Segment& segment, const NamedTensors& values) {
  const Context& context = engine.context();
  const at::Tensor whole = at::zeros({segment.layout().size()}, segment.master().options());
  if (context.world.rank() == 0) {
    for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
      const ParameterInfo& info = engine.inventory().parameters[segment.parameters()[m]];
      whole.narrow(0, segment.place(m).begin, segment.place(m).size)
          .view(info.tensor.sizes())
          .copy_(*find(values, info.name, info.aliases));
    }
  }
  context.world.broadcast(whole, 0, {.purpose = comm::Purpose::parameters}).wait();
  const layout::Range own = segment.layout().shard(context.shard_index());
  segment.master().copy_(whole.narrow(0, own.begin, own.size));
  if (!context.cuts_parameters()) segment.flat().copy_(whole);
}

void load_plain(const Context& context, const at::Tensor& target, const at::Tensor* value) {
  if (context.world.rank() == 0) target.copy_(*value);
  const at::Tensor flat = target.contiguous();
  context.world.broadcast(flat, 0, {.purpose = comm::Purpose::parameters}).wait();
  if (!flat.is_same(target)) target.copy_(flat);
}

}  // namespace

NamedTensors gather_full(Engine& engine, bool everywhere) {
  const Quiet quiet;
  engine.check_failure();
  const bool wanted = everywhere || engine.context().world.rank() == 0;
  NamedTensors full;
  for (const Unit& unit : engine.units()) {
    for (const Segment& segment : unit.segments()) {
      const at::Tensor whole = whole_master(engine.context(), segment);
      if (!wanted) continue;
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const ParameterInfo& info = engine.inventory().parameters[segment.parameters()[m]];
        const layout::Range place = segment.place(m);
        full[info.name] =
            copy_to_cpu(whole.narrow(0, place.begin, place.size).view(info.tensor.sizes()));
      }
    }
  }
  if (!wanted) return full;
  for (const ParameterInfo* info : outside_units(engine)) {
    full[info->name] = copy_to_cpu(info->tensor.detach());
  }
  for (const BufferInfo& info : engine.inventory().buffers) {
    full[info.name] = copy_to_cpu(info.tensor);
  }
  return full;
}

void load_full(Engine& engine, const NamedTensors& values) {
  const Quiet quiet;
  engine.check_failure();
  const Context& context = engine.context();
  const bool first = context.world.rank() == 0;
  const std::string problem =
      comm::broadcast_text(context.world, first ? problem_with(engine.inventory(), values) : "");
  if (!problem.empty()) throw UsageError("the values do not fit the model: " + problem);
  for (Unit& unit : engine.units()) {
    for (Segment& segment : unit.segments()) load_segment(engine, segment, values);
  }
  for (const ParameterInfo* info : outside_units(engine)) {
    load_plain(context, info->tensor, first ? find(values, info->name, info->aliases) : nullptr);
  }
  for (const BufferInfo& info : engine.inventory().buffers) {
    load_plain(context, info.tensor, first ? &values.at(info.name) : nullptr);
  }
  if (context.cuts_parameters()) engine.gatherer().free_all();
  engine.mark_fresh();
}

}  // namespace sheaf::sharding
