#include "gatherer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sheaf/base/log.h"

namespace sheaf::sharding {

Gatherer::Gatherer(const Context& context, const Inventory& inventory, Units& units)
    : context_(context), inventory_(inventory), units_(units), usage_(units.size()) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].is_root()) root_ = u;
  }
}

void Gatherer::need(std::size_t unit, Direction direction, Waker waker, std::uint64_t operation) {
  Usage& usage = usage_[unit];
  const bool was_freed = units_[unit].presence() == Presence::freed;
  if (direction == Direction::backward && waker == Waker::boundary) finish_others(unit);
  usage.last_need = ++clock_;
  usage.operation = operation;
  // A unit with several outputs is reached several times on the way back, but left once.
  if (waker == Waker::boundary) {
    usage.inside = direction == Direction::forward ? usage.inside + 1 : 1;
  }
  if (!units_[unit].is_root()) note_visit(unit, direction);
  if (was_freed) {
    static_cast<void>(make_room(unit, unit, /*urgent=*/true));
    start(unit);
  }
  if (context_.options.prefetch) prefetch(unit, direction);
  if (units_[unit].presence() == Presence::arriving) units_[unit].finish_gather(context_);
}

void Gatherer::note_visit(std::size_t unit, Direction direction) {
  if (!order(direction).visit(unit) || told_) return;
  told_ = true;
  if (context_.world.rank() != 0) return;
  log::info("sharding",
            fmt::format("the order of units changed at \"{}\": learning it again (said once)",
                        units_[unit].name()));
}

void Gatherer::start(std::size_t unit) {
  units_[unit].start_gather(context_);
  usage_[unit].kept = !units_[unit].reshards();
}

/// The root is needed somewhere in every pass, so it comes with the first unit; the others come in
/// the order that was learned.
void Gatherer::prefetch(std::size_t current, Direction direction) {
  const auto freed = [&](std::size_t unit) { return units_[unit].presence() == Presence::freed; };
  if (root_ && root_was_needed_ && freed(*root_)) start(*root_);
  root_was_needed_ = root_was_needed_ || current == root_;
  const std::optional<std::size_t> next = order(direction).next();
  if (!next || !freed(*next) || !make_room(*next, current, /*urgent=*/false)) return;
  start(*next);
  usage_[*next].last_need = ++clock_;
}

/// Backward runs what was computed last first. So when it comes to a unit, those before it are
/// done, except the ones around it.
void Gatherer::finish_others(std::size_t unit) {
  for (std::size_t other = 0; other < units_.size(); ++other) {
    const auto outer = units_[other].module();
    const auto inner = units_[unit].module();
    if (usage_[other].inside == 0 || (outer && inner && lies_in(inventory_, *inner, *outer))) {
      continue;
    }
    usage_[other].inside = 0;
  }
}

bool Gatherer::counts(std::size_t unit) const {
  return units_[unit].presence() != Presence::freed && !units_[unit].is_root() &&
         !usage_[unit].kept && usage_[unit].held == 0;
}

/// Frees what was needed longest ago until one more unit fits. When nothing can be freed, only an
/// urgent one may come on top.
bool Gatherer::make_room(std::size_t for_unit, std::size_t current, bool urgent) {
  if (units_[for_unit].is_root() || !units_[for_unit].reshards()) return true;
  while (true) {
    int gathered = 0;
    std::optional<std::size_t> victim;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (!counts(u)) continue;
      ++gathered;
      const Usage& usage = usage_[u];
      const bool busy = usage.inside > 0 || u == current ||
                        (usage.operation != 0 && usage.operation == usage_[current].operation);
      if (busy || (!urgent && units_[u].presence() == Presence::arriving)) continue;
      if (!victim || usage.last_need < usage_[*victim].last_need) victim = u;
    }
    if (gathered < context_.options.max_gathered) return true;
    if (!victim) return urgent;
    free(*victim);
  }
}

void Gatherer::leave(std::size_t unit, Direction direction, bool with_gradients) {
  Usage& usage = usage_[unit];
  usage.inside = std::max(0, usage.inside - 1);
  if (usage.inside > 0 || usage.held > 0 || units_[unit].presence() == Presence::freed) return;
  if (direction == Direction::forward && with_gradients) {
    // What backward begins with would have to be gathered again at once.
    const bool needed_first = backward_.first() == unit;
    if (units_[unit].is_root() || !units_[unit].reshards() || needed_first) return;
  }
  if (direction == Direction::backward && units_[unit].is_root()) return;
  free(unit);
}

void Gatherer::free(std::size_t unit) {
  usage_[unit].kept = false;
  units_[unit].free(context_);
}

void Gatherer::free_all() {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].presence() != Presence::freed && usage_[u].held == 0) free(u);
  }
}

void Gatherer::end_pass() {
  forward_.end_pass();
  backward_.end_pass();
  for (Usage& usage : usage_) usage.inside = 0;
  free_all();
}

void Gatherer::hold(std::size_t unit) {
  if (units_[unit].presence() == Presence::freed) units_[unit].start_gather(context_);
  if (units_[unit].presence() == Presence::arriving) units_[unit].finish_gather(context_);
  ++usage_[unit].held;
}

void Gatherer::let_go(std::size_t unit) {
  if (--usage_[unit].held == 0) free(unit);
}

}  // namespace sheaf::sharding
