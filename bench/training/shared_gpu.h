#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program.h"

namespace sheaf::launch {
class MpsDaemon;
}

namespace sheaf::bench {

/// While it lives, what this process starts uses the GPU under MPS, or not.
class SharedGpu {
 public:
  explicit SharedGpu(bool mps);
  ~SharedGpu();
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;

 private:
  std::unique_ptr<launch::MpsDaemon> daemon_;
};

/// What the runs of one contest came to, those of each side in the order of time.
struct Outcome {
  Contest contest;
  bool mps = false;
  std::vector<Figures> pytorch;
  std::vector<Figures> sheaf;
  /// sheaf with every exchange waited for, and without exchanges.
  Figures waited;
  Figures compute;
};

/// Runs both sides in turns, and then what tells how much of the exchanges is seen.
[[nodiscard]] Outcome measure(const ProgramOptions& options, const Contest& contest, bool mps);

/// Returns the name, driver and present clocks of the GPU and the versions in use; empty without
/// nvidia-smi.
[[nodiscard]] std::string gpu_state();
[[nodiscard]] std::string torch_versions(const std::string& python);

}  // namespace sheaf::bench
