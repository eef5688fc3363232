#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/comm/watch.h"
#include "sheaf/optim/slot.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/options.h"

namespace sheaf::checkpoint {
class Disk;
}

namespace sheaf::train {

struct DrillOptions {
  int rank = 0;
  /// How often the run has been restarted: faults happen in its first life only.
  int generation = 0;
  /// Where it is written down which faults have happened, so that none does twice; empty: nowhere.
  std::string folder = {};
};

/// Makes the faults of `fault.inject` happen on one rank. It is told where the run is; a run
/// without faults has none.
class Drill {
 public:
  /// Throws UsageError for faults that cannot be.
  Drill(const FaultSection& section, DrillOptions options);
  ~Drill();
  Drill(const Drill&) = delete;
  Drill& operator=(const Drill&) = delete;

  /// A step, counted from 1, begins; may stop or end this process.
  void begin_step(std::int64_t step);
  /// Gradients are exchanged and not used yet.
  void disturb_gradients(optim::SlotSource& slots);
  /// A step has changed the weights.
  void disturb_weights(const sharding::State& state);
  /// Tells, on all ranks alike, whether a file is to be damaged before this step.
  [[nodiscard]] bool wants_files() const;
  /// Damages the newest checkpoint.
  void damage_files(const std::string& folder);

  /// Returns what decides about calls; valid as long as the drill.
  [[nodiscard]] comm::Interference interference();
  /// Returns a disk that can be full; null where none of the faults is about disks.
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> disk();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Returns what the drill of a rank has to know: the generation from the environment
/// (SHEAF_GENERATION), the folder from the options.
[[nodiscard]] DrillOptions drill_options(const RunOptions& options, int rank);

/// Returns the drill that the options ask for, null without faults.
[[nodiscard]] std::shared_ptr<Drill> make_drill(const FaultSection& section,
                                                const DrillOptions& options);

}  // namespace sheaf::train
