#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "sheaf/train/record.h"

namespace sheaf::train {

/// What a rank says of itself while it trains, in a small file of its own: ranks/rank_N.json in the
/// log folder. Written once a second at most, so that it costs nothing; a reader finds a whole one
/// or none. Nobody needs it, so what cannot be written is left out.
class RankFile {
 public:
  /// Writes nothing where `folder` is empty.
  RankFile(const std::string& folder, int rank);

  void write(const StepRecord& step);

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path path_;
  int rank_;
  Clock::time_point due_{};
};

}  // namespace sheaf::train
