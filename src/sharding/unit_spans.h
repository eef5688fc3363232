#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "context.h"
#include "gatherer.h"
#include "inventory.h"
#include "sheaf/base/recorder.h"

namespace sheaf::sharding {

/// Records how long each unit's forward and backward take; on a GPU by stamps of its stream.
class UnitSpans {
 public:
  UnitSpans(const Context& context, const Inventory& inventory, const Units& units);

  /// On the way back it also ends the units before: what was computed last comes first, so they are
  /// done, except the ones around this one.
  void begin(std::size_t unit, Direction direction);
  /// Does nothing for one that has not begun.
  void end(std::size_t unit, Direction direction);
  /// Ends what is still open: units whose inputs have no gradient say nothing when backward leaves
  /// them.
  void end_pass();
  /// The same for a pass that failed, which is not recorded.
  void forget_pass() noexcept;

 private:
  /// Something that has begun; `time` is 0 for one that has not.
  struct Open {
    std::int64_t time = 0;
    std::shared_ptr<const Stamp> stamp;
  };

  [[nodiscard]] std::vector<Open>& open(Direction direction) {
    return direction == Direction::forward ? forward_ : backward_;
  }
  [[nodiscard]] bool is_around(std::size_t outer, std::size_t inner) const;
  void end_at(std::size_t unit, Direction direction, std::int64_t time);

  const Context& context_;
  const Inventory& inventory_;
  const Units& units_;
  Recorder recorder_;
  std::vector<Label> labels_;
  std::vector<Open> forward_;
  std::vector<Open> backward_;
};

}  // namespace sheaf::sharding
