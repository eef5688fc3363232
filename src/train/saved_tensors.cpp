#include "train/saved_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/agree.h"

namespace sheaf::train {
namespace {

using checkpoint::TensorSpec;

std::string name_of_state(const std::string& state, const std::string& parameter) {
  return fmt::format("optimizer/{}/{}", state, parameter);
}

std::string name_of_buffer(const std::string& buffer) { return "buffer/" + buffer; }

/// A slot and the segment that it is in.
struct SlotPlace {
  std::size_t segment = 0;
  optim::Slot slot;
};

using SlotPlaces = std::map<std::string, SlotPlace>;

SlotPlaces slots_of(const optim::Optimizer& optimizer) {
  SlotPlaces places;
  const auto& segments = optimizer.slots()->segments();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (const optim::Slot& slot : segments[s].slots) places[slot.name] = {s, slot};
  }
  return places;
}

std::map<std::string, std::int64_t> begins_of(const std::vector<sharding::Slice>& slices) {
  std::map<std::string, std::int64_t> begins;
  for (const sharding::Slice& slice : slices) begins[slice.name] = slice.begin;
  return begins;
}

std::vector<TensorSpec> weight_specs(const TrainingState& state) {
  std::vector<TensorSpec> specs;
  for (const sharding::Slice& slice : state.model.kept_slices()) {
    specs.push_back({slice.name, slice.values.scalar_type(), slice.shape});
  }
  return specs;
}

void add_optimizer_specs(const optim::Optimizer& optimizer,
                         const std::string& state,
                         std::vector<TensorSpec>& specs) {
  const auto& segments = optimizer.slots()->segments();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (const optim::Slot& slot : segments[s].slots) {
      specs.push_back({name_of_state(state, slot.name), optimizer.state_type(s), slot.shape});
    }
  }
}

std::vector<TensorSpec> state_specs(const TrainingState& state) {
  std::vector<TensorSpec> specs;
  for (const std::string& name : state.optimizer->state_names()) {
    add_optimizer_specs(*state.optimizer, name, specs);
  }
  for (const auto& [name, buffer] : state.model.buffers()) {
    specs.push_back({name_of_buffer(name), buffer.scalar_type(), buffer.sizes().vec()});
  }
  return specs;
}

void add_optimizer_parts(const TrainingState& state,
                         const std::vector<sharding::Slice>& owned,
                         std::vector<checkpoint::Part>& parts) {
  const SlotPlaces places = slots_of(*state.optimizer);
  const auto kept = begins_of(state.model.kept_slices());
  for (const std::string& name : state.optimizer->state_names()) {
    for (const sharding::Slice& slice : owned) {
      const auto place = places.find(slice.name);
      // Frozen parameters have no state.
      if (place == places.end()) continue;
      const auto& [segment, slot] = place->second;
      const std::int64_t first = slot.offset + slice.begin - kept.at(slice.name);
      parts.push_back(
          {name_of_state(name, slice.name),
           slice.begin,
           state.optimizer->state(name, segment).narrow(0, first, slice.values.numel())});
    }
  }
}

void load_optimizer(const checkpoint::Reader& reader, const TrainingState& state) {
  std::vector<checkpoint::Part> targets;
  const auto kept = begins_of(state.model.kept_slices());
  for (const std::string& name : state.optimizer->state_names()) {
    for (const auto& [parameter, place] : slots_of(*state.optimizer)) {
      if (place.slot.size == 0) continue;
      const at::Tensor values =
          state.optimizer->state(name, place.segment).narrow(0, place.slot.offset, place.slot.size);
      targets.push_back({name_of_state(name, parameter), kept.at(parameter), values});
    }
  }
  reader.read(targets);
}

void load_buffers(const checkpoint::Reader& reader, const TrainingState& state) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, buffer] : state.model.buffers()) {
    const at::Tensor values = at::empty_like(buffer, at::MemoryFormat::Contiguous);
    reader.read(name_of_buffer(name), 0, values.view(-1));
    buffer.copy_(values);
  }
}

void check_tensor(const checkpoint::Reader& reader, const TensorSpec& wanted) {
  const checkpoint::SavedTensor* saved = reader.find(wanted.name);
  if (saved == nullptr) {
    throw UsageError(fmt::format("it is of another run, which has no {}", in_quotes(wanted.name)));
  }
  if (saved->tensor.shape == wanted.shape) return;
  throw UsageError(
      fmt::format("it is of another run: {} has the shape [{}] there and [{}] in this run",
                  in_quotes(wanted.name),
                  fmt::join(saved->tensor.shape, ", "),
                  fmt::join(wanted.shape, ", ")));
}

}  // namespace

SavedTensors saved_tensors(const TrainingState& state, bool saves_buffers) {
  SavedTensors tensors{.weights = weight_specs(state), .state = state_specs(state), .parts = {}};
  const std::vector<sharding::Slice> owned = state.model.owned_slices();
  for (const sharding::Slice& slice : owned) {
    tensors.parts.push_back({slice.name, slice.begin, slice.values.detach()});
  }
  add_optimizer_parts(state, owned, tensors.parts);
  if (!saves_buffers) return tensors;
  for (const auto& [name, buffer] : state.model.buffers()) {
    // A copy, because the next forward pass may change them.
    tensors.parts.push_back(
        {name_of_buffer(name), 0, buffer.detach().clone(at::MemoryFormat::Contiguous).view(-1)});
  }
  return tensors;
}

void check_fits(const checkpoint::Reader& reader, const TrainingState& state) {
  std::set<std::string> known;
  for (const auto& specs : {weight_specs(state), state_specs(state)}) {
    for (const TensorSpec& wanted : specs) {
      check_tensor(reader, wanted);
      known.insert(wanted.name);
    }
  }
  for (const checkpoint::SavedTensor& saved : reader.manifest().tensors) {
    if (known.contains(saved.tensor.name)) continue;
    throw UsageError(
        fmt::format("it is of another run: this one has no {}", in_quotes(saved.tensor.name)));
  }
}

void load_tensors(const checkpoint::Reader& reader, const TrainingState& state) {
  std::exception_ptr error = checkpoint::attempt([&] {
    load_optimizer(reader, state);
    load_buffers(reader, state);
  });
  state.model.load([&](const sharding::Slice& slice) {
    if (error) return;
    error = checkpoint::attempt([&] { reader.read(slice.name, slice.begin, slice.values); });
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace sheaf::train
