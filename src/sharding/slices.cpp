#include "slices.h"

#include <set>

#include "quiet.h"

namespace sheaf::sharding {
namespace {

Slice slice_of(const ParameterInfo& info, std::int64_t begin, const at::Tensor& values) {
  return {.name = info.name,
          .aliases = info.aliases,
          .shape = info.tensor.sizes().vec(),
          .begin = begin,
          .values = values};
}

Slice slice_of(Engine& engine, const Segment& segment, std::size_t member) {
  const layout::Range part = segment.local_part(member);
  return slice_of(engine.inventory().parameters[segment.parameters()[member]],
                  part.size == 0 ? 0 : part.begin - segment.place(member).begin,
                  segment.part_of(segment.master(), member));
}

void add_slices(Engine& engine, const Segment& segment, std::vector<Slice>& slices) {
  for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
    slices.push_back(slice_of(engine, segment, m));
  }
}

/// Copies of a slice, and which of them this rank has.
struct Copies {
  std::int64_t count = 1;
  std::int64_t index = 0;
};

Copies copies_in_units(const Context& context) {
  if (!context.cuts_state()) return {context.world.size(), context.world.rank()};
  if (!context.replicate) return {};
  return {context.replicate->size(), context.replicate->rank()};
}

/// Of equal slices everyone takes another piece.
void take_piece(Slice& slice, const Copies& copies) {
  const std::int64_t size = slice.values.numel();
  const std::int64_t first = size * copies.index / copies.count;
  const std::int64_t last = size * (copies.index + 1) / copies.count;
  slice.values = slice.values.narrow(0, first, last - first);
  slice.begin += first;
}

/// What was gathered before is out of date; where parameters are whole, they are gathered anew.
void follow_masters(Engine& engine) {
  const Context& context = engine.context();
  if (context.cuts_parameters()) {
    engine.gatherer().free_all();
    return;
  }
  for (Unit& unit : engine.units()) {
    for (Segment& segment : unit.segments()) {
      segment.start_refresh(context, /*copied=*/false).wait();
    }
  }
}

}  // namespace

std::vector<const ParameterInfo*> outside_units(Engine& engine) {
  std::set<std::size_t> inside;
  for (const Unit& unit : engine.units()) {
    for (const Segment& segment : unit.segments()) {
      inside.insert(segment.parameters().begin(), segment.parameters().end());
    }
  }
  std::vector<const ParameterInfo*> outside;
  for (std::size_t p = 0; p < engine.inventory().parameters.size(); ++p) {
    if (!inside.contains(p)) outside.push_back(&engine.inventory().parameters[p]);
  }
  return outside;
}

std::vector<Slice> unit_slices(Engine& engine) {
  const Quiet quiet;
  std::vector<Slice> slices;
  for (const Unit& unit : engine.units()) {
    for (const Segment& segment : unit.segments()) add_slices(engine, segment, slices);
  }
  return slices;
}

std::vector<Slice> kept_slices(Engine& engine) {
  const Quiet quiet;
  std::vector<Slice> slices = unit_slices(engine);
  // Those outside of units are whole.
  for (const ParameterInfo* info : outside_units(engine)) {
    slices.push_back(slice_of(*info, 0, info->tensor.detach().view(-1)));
  }
  return slices;
}

std::vector<Slice> owned_slices(Engine& engine) {
  const Quiet quiet;
  const Context& context = engine.context();
  const std::size_t in_units = unit_slices(engine).size();
  std::vector<Slice> slices = kept_slices(engine);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Copies whole{context.world.size(), context.world.rank()};
    take_piece(slices[i], i < in_units ? copies_in_units(context) : whole);
  }
  std::erase_if(slices, [](const Slice& slice) { return slice.values.numel() == 0; });
  return slices;
}

void load_slices(Engine& engine, const std::function<void(const Slice&)>& fill) {
  const Quiet quiet;
  engine.check_failure();
  for (const Slice& slice : kept_slices(engine)) {
    if (slice.values.numel() > 0) fill(slice);
  }
  follow_masters(engine);
  engine.mark_fresh();
}

}  // namespace sheaf::sharding
