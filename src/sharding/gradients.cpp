#include "gradients.h"

#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "chunks.h"
#include "finite.h"
#include "optim/sum_of_squares.h"
#include "quiet.h"

namespace sheaf::sharding {
namespace {

/// Adds the squares of a gradient's elements, in fp64, to `sum`; for the CPU.
void add_squares(const at::Tensor& gradient, const at::Tensor& sum) {
  const std::int64_t chunk = chunk_on(gradient.device());
  for (std::int64_t begin = 0; begin < gradient.numel(); begin += chunk) {
    const std::int64_t size = std::min(chunk, gradient.numel() - begin);
    const at::Tensor part = gradient.narrow(0, begin, size).to(at::kDouble);
    sum.add_(at::dot(part, part));
  }
}

/// Returns the sum of the squares of all elements: fp64, of one element.
at::Tensor squares_of(const std::vector<at::Tensor>& gradients, at::Device device) {
  if (device.is_cuda() && !gradients.empty()) return optim::sum_of_squares(gradients);
  at::Tensor sum = at::zeros({1}, at::TensorOptions(device).dtype(at::kDouble));
  for (const at::Tensor& gradient : gradients) add_squares(gradient, sum);
  return sum;
}

/// Flags the parameters whose gradients this rank has made or, if not `made`, keeps.
at::Tensor non_finite_here(Engine& engine, bool made) {
  const auto num_parameters = static_cast<std::int64_t>(engine.inventory().parameters.size());
  at::Tensor flags = at::zeros({num_parameters}, at::kInt);
  for (Unit& unit : engine.units()) {
    for (std::size_t s = 0; s < unit.segments().size(); ++s) {
      const auto& gradient = unit.gradients()[s];
      if (!gradient || !gradient->result().defined()) continue;
      const Segment& segment = unit.segments()[s];
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const bool fine =
            made ? gradient->was_finite(m) : is_finite(segment.part_of(gradient->result(), m));
        flags.mutable_data_ptr<int>()[segment.parameters()[m]] = fine ? 0 : 1;
      }
    }
  }
  return flags;
}

std::vector<NonFinite> find_non_finite(Engine& engine, const comm::Group& group, bool made) {
  const at::Tensor own = non_finite_here(engine, made);
  const std::int64_t num_parameters = own.numel();
  const at::Device device = engine.context().device;
  const at::Tensor all =
      at::empty({num_parameters * group.size()}, at::TensorOptions(device).dtype(at::kInt));
  group.all_gather(all, own.to(device), {.purpose = comm::Purpose::control}).wait();
  const at::Tensor flags = all.cpu();
  std::vector<NonFinite> found;
  for (int rank = 0; rank < group.size(); ++rank) {
    for (std::int64_t p = 0; p < num_parameters; ++p) {
      if (flags.const_data_ptr<int>()[rank * num_parameters + p] == 0) continue;
      const auto& info = engine.inventory().parameters[static_cast<std::size_t>(p)];
      found.push_back({.parameter = info.name, .rank = rank, .made_there = made});
    }
  }
  return found;
}

}  // namespace

std::vector<at::Tensor> gradients_of(Engine& engine) {
  std::vector<at::Tensor> all;
  for (Unit& unit : engine.units()) {
    for (auto& gradient : unit.gradients()) {
      if (gradient && gradient->result().defined()) all.push_back(gradient->result());
    }
  }
  return all;
}

at::Tensor global_norm(Engine& engine) {
  const Quiet quiet;
  const Context& context = engine.context();
  const at::Tensor sum = squares_of(gradients_of(engine), context.device);
  // Whole gradients are the same everywhere; parts add up over the ranks they are cut over.
  if (context.cuts_state()) {
    context.shard.all_reduce(sum, {.purpose = comm::Purpose::control}).wait();
  }
  return sum.sqrt_().squeeze(0);
}

void scale_gradients(Engine& engine, const at::Tensor& factor) {
  const Quiet quiet;
  for (const at::Tensor& gradient : gradients_of(engine)) {
    gradient.mul_(factor.to(gradient.scalar_type()));
  }
}

bool all_finite(Engine& engine) {
  const Quiet quiet;
  const std::vector<at::Tensor> own = gradients_of(engine);
  const bool here = std::all_of(own.begin(), own.end(), is_finite);
  const at::Tensor bad = at::zeros({1}, at::TensorOptions(engine.context().device));
  if (!here) bad.fill_(1);
  engine.context()
      .world.all_reduce(bad, {.reduction = comm::Reduction::max, .purpose = comm::Purpose::control})
      .wait();
  return bad.item<float>() == 0;
}

std::vector<NonFinite> find_non_finite(Engine& engine) {
  const Quiet quiet;
  const Context& context = engine.context();
  if (context.options.trace_non_finite) {
    auto made = find_non_finite(engine, context.world, /*made=*/true);
    if (!made.empty()) return made;
  }
  return find_non_finite(engine, context.shard, /*made=*/false);
}

}  // namespace sheaf::sharding
