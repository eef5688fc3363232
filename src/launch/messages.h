#pragma once

#include <cstdint>
#include <string>

#include "launch/failure.h"
#include "launch/roster.h"

namespace sheaf::launch {

/// How a generation ended on one node.
struct NodeEnd {
  /// 0: all ranks did their work. Else that of the first that did not.
  int code = 0;
  /// A signal to this node's launcher asked for the end of the job; with code kRequeueCode of one
  /// that may be started again.
  bool stopped = false;
  /// The furthest step that any of its ranks reported; -1: none did.
  std::int64_t furthest = -1;
};

/// What a node's launcher says of itself, again and again.
struct NodeState {
  std::string launcher{};
  /// Ranks that it can start.
  int ranks = 0;
  /// Grows, so that a launcher which has gone is told from one that has nothing new.
  std::int64_t beat = 0;
};

// What launchers write into the store for one another, and read from it. A text that does not fit
// is an Error.
[[nodiscard]] std::string encode(const Failure& failure);
[[nodiscard]] std::string encode(const Roster& roster);
[[nodiscard]] std::string encode(const NodeEnd& end);
[[nodiscard]] std::string encode(const NodeState& state);
[[nodiscard]] Failure decode_failure(const std::string& text);
[[nodiscard]] Roster decode_roster(const std::string& text);
[[nodiscard]] NodeEnd decode_end(const std::string& text);
[[nodiscard]] NodeState decode_state(const std::string& text);

}  // namespace sheaf::launch
