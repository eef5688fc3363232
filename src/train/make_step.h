#pragma once

#include <memory>

#include "assembly.h"
#include "sheaf/train/checkpointer.h"
#include "sheaf/train/step.h"
#include "sheaf/train/trainer.h"
#include "train/drill.h"
#include "train/numbers_guard.h"
#include "train/step_graph.h"

namespace sheaf::train {

/// Whether the host looks at the numbers of a step before the update. On a GPU it would have to
/// wait for them, so it does only where something else than the end of the run depends on them.
[[nodiscard]] bool is_guarded(const RunOptions& options);

/// Decides whether steps are recorded, and says why they are not. Throws UsageError where they have
/// to be and cannot.
[[nodiscard]] bool records_steps(const RunOptions& options,
                                 const comm::Group& world,
                                 const Hooks& hooks);

/// Returns null where steps are not recorded.
[[nodiscard]] std::shared_ptr<StepGraph> make_graph(const RunOptions& options,
                                                    const Assembly& parts,
                                                    bool records_steps);

/// Who looks at a step besides the trainer.
struct StepWatchers {
  std::shared_ptr<Checkpointer> checkpointer;
  std::shared_ptr<NumbersGuard> guard;
  std::shared_ptr<Drill> drill;
  std::shared_ptr<StepGraph> graph;
};

/// Makes the step of a run from its options.
[[nodiscard]] TrainStep make_step(const RunOptions& options,
                                  const Assembly& parts,
                                  const Hooks& hooks,
                                  const StepWatchers& watchers);

}  // namespace sheaf::train
