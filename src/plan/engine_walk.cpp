#include "plan/engine_walk.h"

#include <algorithm>
#include <utility>

namespace sheaf::plan {
namespace {

// Masters, and sums over passes, are fp32.
constexpr std::int64_t kMasterBytes = 4;
// Exchanges under way where gradients are cut; the oldest is waited for.
constexpr std::size_t kMaxFlights = 2;

}  // namespace

std::int64_t resting_parameters(const Unit& unit, const Setting& setting) {
  const std::int64_t compute = bytes_of(setting.compute);
  if (setting.cuts_parameters()) return kMasterBytes * unit.shard_size;
  if (compute == kMasterBytes) return kMasterBytes * unit.size;
  return compute * unit.size + kMasterBytes * unit.shard_size;
}

std::int64_t resting_gradients(const Unit& unit, const Setting& setting) {
  return kMasterBytes * (setting.cuts_gradients() ? unit.shard_size : unit.size);
}

std::int64_t resting_optimizer(const Unit& unit, const Setting& setting) {
  return setting.optimizer_states * bytes_of(setting.moments) * unit.shard_size;
}

EngineWalk::EngineWalk(Walk& walk, const std::vector<Parameter>& parameters, const Setting& setting)
    : walk_(walk),
      setting_(setting),
      units_(units_of(parameters, setting)),
      unit_of_(parameters.size()),
      states_(units_.size()) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const std::size_t p : units_[u].parameters) unit_of_[p] = u;
    states_[u].waiting = units_[u].parameters.size();
    resting_.push_back(walk.take(Purpose::parameters, resting_parameters(units_[u], setting)));
    resting_.push_back(walk.take(Purpose::optimizer, resting_optimizer(units_[u], setting)));
    if (setting.device == Device::cpu) take_lasting(u);
  }
}

void EngineWalk::gather(std::size_t unit) {
  if (!setting_.cuts_parameters() || states_[unit].gathered) return;
  states_[unit].gathered =
      walk_.take(Purpose::gathered, bytes_of(setting_.compute) * units_[unit].size);
}

void EngineWalk::enter_model() {
  gather(units_.size() - 1);
  if (setting_.prefetch) gather(0);
}

void EngineWalk::enter_forward(int block) {
  if (!setting_.cuts_parameters()) return;
  const auto unit = static_cast<std::size_t>(block);
  gather(unit);
  if (setting_.prefetch && unit + 2 < units_.size()) gather(unit + 1);
}

/// What backward begins with stays.
void EngineWalk::leave_forward(int block) {
  if (!setting_.cuts_parameters() || !setting_.reshard_after_forward) return;
  const auto unit = static_cast<std::size_t>(block);
  if (unit + 2 < units_.size()) states_[unit].gathered.reset();
}

/// Room for the next unit comes from the one that has been.
void EngineWalk::enter_backward(int block) {
  if (!setting_.cuts_parameters()) return;
  const auto unit = static_cast<std::size_t>(block);
  if (unit + 2 < units_.size()) states_[unit + 1].gathered.reset();
  gather(unit);
  if (setting_.prefetch && unit > 0) gather(unit - 1);
}

bool EngineWalk::takes_gradients_directly(bool exchanged) const {
  const std::int64_t kept = exchanged ? wire() : kMasterBytes;
  return kept == kMasterBytes || setting_.reduce == setting_.compute;
}

bool EngineWalk::in_lasting(const State& state, bool exchanged) const {
  const std::int64_t kept = exchanged ? wire() : kMasterBytes;
  return !state.has_result && kept == kMasterBytes && !setting_.cuts_gradients();
}

void EngineWalk::take_lasting(std::size_t unit) {
  if (states_[unit].lasting) return;
  states_[unit].lasting = walk_.take(Purpose::gradients, resting_gradients(units_[unit], setting_));
}

void EngineWalk::open(std::size_t unit, bool exchanged) {
  State& state = states_[unit];
  if (state.is_open) return;
  state.is_open = true;
  if (in_lasting(state, exchanged)) {
    take_lasting(unit);
  } else {
    const std::int64_t kept = exchanged ? wire() : kMasterBytes;
    state.local = walk_.take(Purpose::communication, kept * units_[unit].size);
  }
}

bool EngineWalk::lend(std::size_t parameter, bool exchanged) {
  const std::size_t unit = unit_of_[parameter];
  const std::int64_t kept = exchanged ? wire() : kMasterBytes;
  if (kept != kMasterBytes || states_[unit].is_open) return false;
  open(unit, exchanged);
  return true;
}

void EngineWalk::gradient(std::size_t parameter, bool exchanged) {
  const std::size_t unit = unit_of_[parameter];
  State& state = states_[unit];
  open(unit, exchanged);
  if (--state.waiting > 0) return;
  state.waiting = units_[unit].parameters.size();
  if (exchanged) launch(unit);
}

/// As sharding::GradientBuffer does: what travels in a narrow type becomes the result as it is.
void EngineWalk::keep_as_sent(std::size_t unit) {
  State& state = states_[unit];
  Held local = std::exchange(state.local, nullptr);
  if (!setting_.cuts_state()) local.reset();
  state.lasting = walk_.take(Purpose::gradients, wire() * units_[unit].shard_size);
  state.is_open = false;
  state.has_result = true;
  flights_.push_back({std::move(local)});
  while (setting_.cuts_gradients() && flights_.size() > kMaxFlights) flights_.pop_front();
}

void EngineWalk::launch(std::size_t unit) {
  State& state = states_[unit];
  const bool is_wide = wire() == kMasterBytes;
  // A sum over passes has the master's type, and travels in another.
  const bool summed = !setting_.exchanges_every_pass();
  if (setting_.device == Device::gpu && setting_.compute != Number::fp32 && !is_wide && !summed &&
      !state.has_result) {
    return keep_as_sent(unit);
  }
  take_lasting(unit);
  Flight flight;
  if (!is_wide && summed) {
    flight.push_back(walk_.take(Purpose::communication, wire() * units_[unit].size));
  }
  if (setting_.cuts_state() && (state.has_result || !is_wide)) {
    flight.push_back(walk_.take(Purpose::communication, wire() * units_[unit].shard_size));
  }
  // What was summed lives on only as long as it is what travels.
  Held local = std::exchange(state.local, nullptr);
  if (is_wide || !summed) flight.push_back(std::move(local));
  state.is_open = false;
  state.has_result = true;
  flights_.push_back(std::move(flight));
  while (setting_.cuts_gradients() && flights_.size() > kMaxFlights) flights_.pop_front();
}

void EngineWalk::end_pass(bool exchanged) {
  if (exchanged) flights_.clear();
  for (State& state : states_) state.gathered.reset();
}

void EngineWalk::end_step() {
  for (State& state : states_) {
    state.has_result = false;
    state.is_open = false;
    state.local.reset();
    if (setting_.device == Device::gpu) state.lasting.reset();
  }
}

}  // namespace sheaf::plan
