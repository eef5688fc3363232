#pragma once

#include <cstdint>

namespace sheaf::profile {

/// Member of a merged trace's notes with those of each rank.
inline constexpr const char* kMergedNotes = "merged";

// Processes of a merged trace are numbered anew, this many for each rank: GPUs are processes too,
// and have the same numbers on all ranks.
inline constexpr std::int64_t kProcessesPerRank = 1'000'000;

/// Returns the rank that a process of a merged trace belongs to; 0 for small numbers.
[[nodiscard]] inline int rank_of_process(std::int64_t process) {
  constexpr std::int64_t kMostRanks = 1'000'000;
  const std::int64_t rank = process / kProcessesPerRank - 1;
  return rank < 0 || rank > kMostRanks ? 0 : static_cast<int>(rank);
}

}  // namespace sheaf::profile
