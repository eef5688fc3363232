#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "context.h"
#include "unit.h"
#include "visit_order.h"

namespace sheaf::sharding {

using Units = std::deque<Unit>;

enum class Direction { forward, backward };

/// Who needs a unit, and how it may be taken away again.
enum class Waker { boundary, touch };

/// Gathers the units of zero3 when they are needed and before, and frees them when they are not.
///
/// At most `max_gathered` units have memory: the current one, and the one that comes next. Not
/// counted are the root, which stays from the start of forward to the end of backward, units that
/// are kept by choice (reshard_after_forward off, summoned), and units around the current one.
class Gatherer {
 public:
  Gatherer(const Context& context, const Inventory& inventory, Units& units);

  /// Makes the unit's parameters usable by what this thread computes next, and starts to gather
  /// what comes after. `operation` names the operator that asks, for a touch: units that the same
  /// operator has touched are not freed.
  void need(std::size_t unit, Direction direction, Waker waker, std::uint64_t operation = 0);
  /// An operator takes a unit that is there already. One that is held stays in any case, and many
  /// threads may read it.
  void take(std::size_t unit, std::uint64_t operation) {
    if (usage_[unit].held == 0) usage_[unit].operation = operation;
  }
  /// The unit's own forward or backward is over.
  void leave(std::size_t unit, Direction direction, bool with_gradients);

  /// The forward passes are over, and backward begins.
  void begin_backward() { forward_.end_pass(); }
  /// Frees everything: the pass is over, and parameters may change now.
  void end_pass();
  void free_all();

  /// Holds units present until let go.
  void hold(std::size_t unit);
  void let_go(std::size_t unit);

 private:
  struct Usage {
    std::uint64_t last_need = 0;
    std::uint64_t operation = 0;
    /// Boundaries around what is computed now.
    int inside = 0;
    bool kept = false;
    int held = 0;
  };

  void start(std::size_t unit);
  void note_visit(std::size_t unit, Direction direction);
  void prefetch(std::size_t current, Direction direction);
  void finish_others(std::size_t unit);
  [[nodiscard]] bool make_room(std::size_t for_unit, std::size_t current, bool urgent);
  [[nodiscard]] bool counts(std::size_t unit) const;
  void free(std::size_t unit);
  VisitOrder& order(Direction direction) {
    return direction == Direction::forward ? forward_ : backward_;
  }

  const Context& context_;
  const Inventory& inventory_;
  Units& units_;
  std::vector<Usage> usage_;
  std::optional<std::size_t> root_;
  bool root_was_needed_ = false;
  VisitOrder forward_;
  VisitOrder backward_;
  std::uint64_t clock_ = 0;
  bool told_ = false;
};

}  // namespace sheaf::sharding
