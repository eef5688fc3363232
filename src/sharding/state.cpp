#include "sheaf/sharding/state.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include "engine.h"
#include "engine_slots.h"
#include "full_state.h"
#include "gradients.h"
#include "quiet.h"
#include "sheaf/base/error.h"
#include "slices.h"

namespace sheaf::sharding {

Summoned::Summoned(std::shared_ptr<Engine> engine, std::vector<std::size_t> units, bool write)
    : engine_(std::move(engine)), units_(std::move(units)), write_(write) {
  const Quiet quiet;
  engine_->check_failure();
  engine_->refresh();
  if (!engine_->context().cuts_parameters()) return;
  for (const std::size_t unit : units_) engine_->gatherer().hold(unit);
}

Summoned::~Summoned() {
  if (!engine_) return;
  const Quiet quiet;
  for (const std::size_t unit : units_) {
    if (write_) {
      for (Segment& segment : engine_->units()[unit].segments()) segment.take_over();
    }
    if (engine_->context().cuts_parameters()) engine_->gatherer().let_go(unit);
  }
}

NoSyncScope::NoSyncScope(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
  const bool reduces =
      engine_->context().cuts_gradients() && engine_->context().options.no_sync == NoSync::reduce;
  if (reduces) {
    engine_.reset();
  } else {
    engine_->reducer().begin_local();
  }
}

NoSyncScope::~NoSyncScope() {
  if (engine_) engine_->reducer().end_local();
}

State::State(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

optim::Slots State::slots() const { return std::make_shared<EngineSlots>(engine_); }

std::vector<at::Tensor> State::parameters() const {
  std::vector<at::Tensor> handles;
  for (const at::Tensor& handle : engine_->give_handles()) {
    if (handle.defined()) handles.push_back(handle);
  }
  return handles;
}

std::vector<Slice> State::slices() const { return unit_slices(*engine_); }

std::vector<Slice> State::kept_slices() const { return sharding::kept_slices(*engine_); }

std::vector<Slice> State::owned_slices() const { return sharding::owned_slices(*engine_); }

NamedTensors State::buffers() const {
  NamedTensors buffers;
  for (const BufferInfo& info : engine_->inventory().buffers) buffers[info.name] = info.tensor;
  return buffers;
}

std::vector<UnitInfo> State::units() const {
  std::vector<UnitInfo> infos;
  for (const Unit& unit : engine_->units()) {
    UnitInfo info{.name = unit.name()};
    for (const Segment& segment : unit.segments()) {
      for (const std::size_t p : segment.parameters()) {
        info.parameters.push_back(engine_->inventory().parameters[p].name);
        info.num_elements += engine_->inventory().parameters[p].tensor.numel();
        info.num_padding -= engine_->inventory().parameters[p].tensor.numel();
      }
      info.num_padding += segment.layout().size();
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  if (!(max_norm > 0)) {
    throw UsageError(fmt::format("gradients are clipped to a positive norm, got {}", max_norm));
  }
  // As torch's clip_grad_norm_: the small number keeps a norm of zero harmless. Where the norm is
  // not a number gradients stay as they are, so that those which are to blame can be told.
  return (max_norm / (norm + 1e-6)).clamp_max(1.0).nan_to_num(1.0);
}

at::Tensor State::gradient_norm() const {
  const Quiet quiet;
  engine_->check_failure();
  return global_norm(*engine_);
}

at::Tensor State::clip_gradients(double max_norm) const {
  const Quiet quiet;
  const at::Tensor norm = gradient_norm();
  const at::Tensor factor = clip_factor(norm, max_norm);
  const bool nothing_to_do = factor.device().is_cpu() && factor.item<double>() == 1.0;
  if (!nothing_to_do) scale_gradients(*engine_, factor);
  return norm;
}

bool State::multiply_gradients(double factor) const {
  const Quiet quiet;
  engine_->check_failure();
  if (!all_finite(*engine_)) return false;
  const auto options = at::TensorOptions(engine_->context().device).dtype(at::kDouble);
  scale_gradients(*engine_, at::full({}, factor, options));
  return true;
}

void State::zero_gradients() const { engine_->zero_gradients(); }

NoSyncScope State::no_sync() const { return NoSyncScope(engine_); }

std::vector<NonFinite> State::non_finite_gradients() const {
  engine_->check_failure();
  return find_non_finite(*engine_);
}

Summoned State::summon(const torch::nn::Module& module, bool write) const {
  const Inventory& inventory = engine_->inventory();
  std::size_t outer = 0;
  while (outer < inventory.modules.size() && inventory.modules[outer].module != &module) ++outer;
  if (outer == inventory.modules.size()) {
    throw UsageError(
        fmt::format("summon: the sharded model has no such module: {}", module.name()));
  }
  std::vector<std::size_t> units;
  for (std::size_t u = 0; u < engine_->units().size(); ++u) {
    bool below = false;
    for (const Segment& segment : engine_->units()[u].segments()) {
      for (const std::size_t p : segment.parameters()) {
        for (const std::size_t owner : inventory.parameters[p].owners) {
          below = below || lies_in(inventory, owner, outer);
        }
      }
    }
    if (below) units.push_back(u);
  }
  return {engine_, std::move(units), write};
}

NamedTensors State::gather_full(bool everywhere) const {
  return sharding::gather_full(*engine_, everywhere);
}

void State::load_full(const NamedTensors& values) const { sharding::load_full(*engine_, values); }

void State::load(const std::function<void(const Slice&)>& fill) const {
  load_slices(*engine_, fill);
}

const memory::Ledger& State::ledger() const { return engine_->context().options.ledger; }

}  // namespace sheaf::sharding
