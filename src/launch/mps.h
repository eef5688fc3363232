#pragma once

#include <memory>
#include <string>

#include "launch/mps_daemon.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {

/// What is asked for, and what decides about it.
struct MpsRequest {
  Mps mps = Mps::automatic;
  /// Of this node.
  int ranks = 1;
  int gpus = 0;
  /// Empty: a temporary folder.
  std::string run_dir{};
};

/// Starts MPS where it is wanted, and says so in one line of the log; null where not. What is only
/// wanted automatically is left out, with a line of the log, where MPS cannot be had; otherwise
/// that is a UsageError.
[[nodiscard]] std::unique_ptr<MpsDaemon> start_mps(const MpsRequest& request);

}  // namespace sheaf::launch
