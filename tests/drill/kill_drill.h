#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf::drill {

struct DrillOptions {
  /// Path of `sheaf`.
  std::string program{};
  /// Where the run leaves all.
  std::string folder{};
  int ranks = 3;
  int kills = 6;
  std::uint64_t seed = 1;
  /// Steps between checkpoints.
  int every = 4;
  bool asynchronous = false;
};

/// One process that was killed, and what came of it.
struct Kill {
  /// "rank 2" or "launcher".
  std::string victim{};
  /// What the run was doing: "step", "save" or "restore".
  std::string moment{};
  /// The last step before, and the one that the run went on from.
  std::int64_t step = 0;
  std::int64_t resumed = 0;
  /// From the kill until the launcher named the rank; a killed launcher names nobody.
  std::optional<Seconds> named{};
  /// Until the last of the other ranks was gone.
  Seconds ended{0};
  /// Until the first new step was done; unset where the next kill came before it.
  std::optional<Seconds> recovered{};
};

struct DrillResult {
  std::vector<Kill> kills{};
  /// The step at which the run was told to save and end, after all kills.
  std::int64_t final_step = 0;
};

/// Trains, kills processes of the run with SIGKILL at moments that a seeded generator picks by
/// counting what the run is seen to do, and ends the run by SIGTERM when there were enough. A
/// launcher that was killed is started again. Throws Error where the run does not recover.
[[nodiscard]] DrillResult run_drill(const DrillOptions& options);

/// Trains to the same step on the same ranks with nobody killed.
void run_undisturbed(const DrillOptions& options, std::int64_t steps);

/// Returns the kills as a table for people, with medians and the longest times.
[[nodiscard]] std::string table_of(const DrillResult& result);

}  // namespace sheaf::drill
