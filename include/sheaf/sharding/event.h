#pragma once

#include <string_view>

namespace sheaf::sharding {

/// What an engine does with a unit. The exchanges themselves run beside computation: `started` is
/// when one is handed over, `gathered` and `reduced` when its result is there for the computation.
enum class EventKind {
  gather_started,
  gathered,
  freed,
  forward_began,
  forward_ended,
  backward_began,
  reduce_started,
  reduced,
  pass_ended,
};

[[nodiscard]] std::string_view name(EventKind kind);

struct Event {
  EventKind kind;
  /// Name of the unit; empty for pass_ended, the end of a whole backward pass.
  std::string_view unit;
};

}  // namespace sheaf::sharding
