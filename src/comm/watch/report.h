#pragma once

#include <string>

#include "../peers.h"
#include "board.h"

namespace sheaf::comm {

/// Returns the last calls of a rank as a table, oldest first; times are seconds before now.
[[nodiscard]] std::string page_of_calls(const RankPage& page);

/// Returns the last calls of a rank in one line, newest first.
[[nodiscard]] std::string line_of_calls(const RankPage& page);

/// Returns what can be seen of a rank from outside: "is stopped by a signal", "is gone", "does not
/// answer", or "is alive".
[[nodiscard]] std::string condition_of(const Board& board, const Peers& peers, int world_rank);

/// Tells whether a rank's watch has given no sign of life for longer than it ever sleeps.
[[nodiscard]] bool is_silent(const RankPage& page);

}  // namespace sheaf::comm
