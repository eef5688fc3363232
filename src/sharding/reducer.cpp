#include "reducer.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::sharding {
namespace {

// Exchanges under way whose memory is not needed when they are over: the oldest is waited for.
constexpr std::size_t kMaxFlights = 2;
constexpr std::size_t kNamesInMessage = 5;

std::size_t num_trainable(Unit& unit) {
  std::size_t count = 0;
  for (const Segment& segment : unit.segments()) {
    if (segment.type().trainable) count += segment.parameters().size();
  }
  return count;
}

}  // namespace

Reducer::Reducer(const Context& context, const Inventory& inventory, Units& units)
    : context_(context),
      inventory_(inventory),
      units_(units),
      places_(inventory.parameters.size()),
      beside_(context.device, context.options.gradients_beside),
      is_beside_(inventory.parameters.size(), false),
      waiting_(units.size()),
      seen_(inventory.parameters.size(), false),
      exchanged_(inventory.parameters.size(), false),
      used_(inventory.parameters.size(), false) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (std::size_t s = 0; s < units[u].segments().size(); ++s) {
      const auto& parameters = units[u].segments()[s].parameters();
      for (std::size_t m = 0; m < parameters.size(); ++m) places_[parameters[m]] = {u, s, m};
    }
    if (num_trainable(units[u]) > 0) order_.push_back(u);
  }
  // Buckets begin with the last layers; modules are in the order of the model, so backward meets
  // them in reverse, and the root, which is last in both, ends.
  if (context.cuts_parameters() && !order_.empty()) {
    const bool with_root = units[order_.back()].is_root();
    std::reverse(order_.begin(), order_.end() - (with_root ? 1 : 0));
  }
  start_next_pass();
}

void Reducer::start_next_pass() {
  for (std::size_t u = 0; u < units_.size(); ++u) waiting_[u] = num_trainable(units_[u]);
  std::fill(seen_.begin(), seen_.end(), false);
  std::fill(is_beside_.begin(), is_beside_.end(), false);
  std::fill(exchanged_.begin(), exchanged_.end(), false);
  completed_.clear();
  launched_ = 0;
}

/// Exchanges of a pass that failed may still read and write the memory of gradients. They are
/// waited for here and not where it failed, which must hand its error on even if others never come.
void Reducer::begin_pass() {
  for (Flight& flight : std::exchange(abandoned_, {})) {
    for (auto& [s, part] : flight.segments) part.pending.wait();
  }
}

/// What is added to a gradient in the current stream must find what was left to the other.
void Reducer::join_if_beside(std::size_t parameter) {
  if (is_beside_[parameter]) beside_.join();
}

void Reducer::add(std::size_t parameter, const at::Tensor& gradient) {
  join_if_beside(parameter);
  const GradientPlace& place = places_[parameter];
  buffer_of(place).add(place.member, gradient, exchanging());
}

module::GradientTarget Reducer::open(std::size_t parameter, at::ScalarType type) {
  join_if_beside(parameter);
  const GradientPlace& place = places_[parameter];
  module::GradientTarget target = buffer_of(place).open(
      place.member, inventory_.parameters[parameter].tensor.sizes(), type, exchanging());
  if (target) target.beside = beside_.if_recording();
  is_beside_[parameter] = target.beside != nullptr;
  return target;
}

module::EarlyGradientPtr Reducer::lend(std::size_t parameter, at::ScalarType type) {
  const GradientPlace& place = places_[parameter];
  // Exchanges of a pass that failed may still be at the memory.
  begin_pass();
  return buffer_of(place).lend(
      place.member, inventory_.parameters[parameter].tensor.sizes(), type, exchanging());
}

bool Reducer::settle(std::size_t parameter, const module::EarlyGradient& gradient) {
  join_if_beside(parameter);
  const GradientPlace& place = places_[parameter];
  return buffer_of(place).settle(place.member, gradient);
}

void Reducer::complete(std::size_t parameter) {
  const GradientPlace& place = places_[parameter];
  // Once more in this pass: nested passes do that.
  if (seen_[parameter] || !buffer_of(place).has(place.member)) return;
  seen_[parameter] = true;
  if (--waiting_[place.unit] > 0) return;
  completed_.push_back(place.unit);
  if (exchanging()) launch_complete();
}

GradientBuffer& Reducer::buffer_of(const GradientPlace& place) {
  return *units_[place.unit].gradients()[place.segment];
}

void Reducer::launch_complete() {
  while (launched_ < order_.size() && waiting_[order_[launched_]] == 0) {
    launch(order_[launched_++]);
  }
}

void Reducer::launch(std::size_t unit) {
  context_.emit(EventKind::reduce_started, units_[unit].name());
  Flight flight{.unit = unit};
  for (std::size_t s = 0; s < units_[unit].segments().size(); ++s) {
    auto& gradient = units_[unit].gradients()[s];
    if (!gradient) continue;
    const auto& parameters = units_[unit].segments()[s].parameters();
    for (std::size_t m = 0; m < parameters.size(); ++m) {
      if (gradient->has(m)) exchanged_[parameters[m]] = true;
    }
    flight.segments.emplace_back(s, gradient->start_exchange(beside_));
  }
  flights_.push_back(std::move(flight));
  // The other copies of the model get what the one before has summed up, while this one runs.
  if (context_.replicate && flights_.size() > 1) {
    Flight& before = flights_[flights_.size() - 2];
    for (auto& [s, part] : before.segments) units_[before.unit].gradients()[s]->replicate(part);
  }
  while (flights_.size() > most_flights()) finish_oldest();
}

/// Memory of gradients that are cut, and units that are stepped within the pass, are waited for
/// while it goes on; a single rank has nobody to wait for.
std::size_t Reducer::most_flights() const {
  if (on_reduced_ && context_.world.size() == 1) return 0;
  const bool waits = context_.cuts_gradients() || on_reduced_;
  return waits ? kMaxFlights : units_.size();
}

void Reducer::finish_oldest() {
  Flight& flight = flights_.front();
  on_reduced_ ? tell_reduced(flight) : finish(flight);
  flights_.pop_front();
}

void Reducer::finish(Flight& flight) {
  for (auto& [s, part] : flight.segments) {
    units_[flight.unit].gradients()[s]->finish_exchange(part);
  }
  context_.emit(EventKind::reduced, units_[flight.unit].name());
}

/// Who is told waits for the exchange itself where the computation need not.
void Reducer::tell_reduced(Flight& flight) {
  for (const Segment& segment : units_[flight.unit].segments()) {
    if (!segment.type().trainable) continue;
    for (const std::size_t p : segment.parameters()) used_[p] = true;
  }
  const bool stays = std::ranges::all_of(flight.segments,
                                         [](const auto& segment) { return segment.second.stays; });
  if (!stays) finish(flight);
  on_reduced_(flight.unit, [&] {
    if (stays) finish(flight);
  });
}

bool Reducer::contributed(std::size_t parameter) {
  const GradientPlace& place = places_[parameter];
  return exchanged_[parameter] || buffer_of(place).has(place.member);
}

std::vector<bool> Reducer::note_contributions() {
  std::vector<bool> all(inventory_.parameters.size(), true);
  for (const std::size_t u : order_) {
    for (const Segment& segment : units_[u].segments()) {
      if (!segment.type().trainable) continue;
      for (const std::size_t p : segment.parameters()) all[p] = contributed(p);
    }
  }
  return all;
}

void Reducer::end_pass() {
  beside_.join();
  // A pass that asked for other gradients (torch::autograd::grad) has none for the parameters.
  const bool had_any = std::find(seen_.begin(), seen_.end(), true) != seen_.end();
  if (exchanging() && (had_any || context_.options.find_unused)) exchange_rest();
  start_next_pass();
}

/// Exchanges what the pass has not, and waits for everything.
void Reducer::exchange_rest() {
  const std::vector<bool> given = note_contributions();
  if (!context_.options.find_unused) refuse_missing(given);
  while (launched_ < order_.size()) launch(order_[launched_++]);
  for (const std::size_t u : order_) {
    // A nested pass may have added to a unit after its exchange: that is exchanged once more.
    const auto& gradients = units_[u].gradients();
    const bool late = std::any_of(gradients.begin(), gradients.end(), [](const auto& gradient) {
      return gradient && gradient->has_any();
    });
    if (late) launch(u);
  }
  while (!flights_.empty()) finish_oldest();
  if (context_.options.find_unused) {
    agree_on_used(given);
  } else {
    std::fill(used_.begin(), used_.end(), true);
  }
  on_reduced_ = nullptr;
  if (!order_known_) learn_order();
}

void Reducer::abandon_pass() {
  beside_.abandon();
  std::move(flights_.begin(), flights_.end(), std::back_inserter(abandoned_));
  flights_.clear();
  on_reduced_ = nullptr;
  start_next_pass();
}

void Reducer::refuse_missing(const std::vector<bool>& contributed) const {
  std::string names;
  std::size_t missing = 0;
  for (std::size_t p = 0; p < contributed.size(); ++p) {
    if (contributed[p]) continue;
    if (missing++ < kNamesInMessage) {
      names += (names.empty() ? "" : ", ") + inventory_.parameters[p].name;
    }
  }
  if (missing == 0) return;
  if (missing > kNamesInMessage) names += fmt::format(" and {} more", missing - kNamesInMessage);
  throw Error(fmt::format(
      "rank {}: no gradient came for {}: the loss does not depend on {}; freeze what is "
      "not used, or allow it with find_unused = true",
      context_.world.rank(),
      names,
      missing == 1 ? "it" : "them"));
}

void Reducer::agree_on_used(const std::vector<bool>& contributed) {
  const auto numel = static_cast<std::int64_t>(contributed.size());
  const at::Tensor flags = at::empty({numel}, at::kInt);
  int* values = flags.mutable_data_ptr<int>();
  for (std::size_t p = 0; p < contributed.size(); ++p) values[p] = contributed[p] ? 1 : 0;
  const at::Tensor shared = flags.to(context_.device);
  context_.world
      .all_reduce(shared, {.reduction = comm::Reduction::max, .purpose = comm::Purpose::control})
      .wait();
  const at::Tensor back = shared.cpu();
  for (std::size_t p = 0; p < contributed.size(); ++p) {
    // Earlier passes of the step count, too.
    used_[p] = used_[p] || back.const_data_ptr<int>()[p] != 0;
  }
}

/// Takes over the order in which rank 0 completed its units; those it did not complete follow.
void Reducer::learn_order() {
  order_known_ = true;
  if (order_.size() < 2 || context_.world.size() == 1) return;
  std::vector<std::size_t> next = completed_;
  for (const std::size_t u : order_) {
    if (std::find(next.begin(), next.end(), u) == next.end()) next.push_back(u);
  }
  const at::Tensor numbers = at::empty({static_cast<std::int64_t>(next.size())}, at::kLong);
  std::copy(next.begin(), next.end(), numbers.mutable_data_ptr<std::int64_t>());
  const at::Tensor shared = numbers.to(context_.device);
  context_.world.broadcast(shared, 0, {.purpose = comm::Purpose::control}).wait();
  const at::Tensor back = shared.cpu();
  order_.assign(back.const_data_ptr<std::int64_t>(),
                back.const_data_ptr<std::int64_t>() + back.numel());
}

}  // namespace sheaf::sharding
