#pragma once

#include <string>
#include <vector>

#include "sheaf/profile/straggler.h"
#include "sheaf/train/record.h"
#include "sheaf/train/tracker.h"

namespace sheaf::train {

/// A rank whose weights differ from those of most others, in one unit.
struct OddWeights {
  int rank = 0;
  std::string unit;
};

/// How a run ended.
struct Summary {
  /// Taken by this run, without those before it was resumed.
  std::int64_t steps = 0;
  double first_loss = 0;
  double last_loss = 0;
  /// The last one.
  std::optional<EvaluationRecord> evaluation;
  Progress progress;
  /// What the tracker has: of the steps that count for the speeds, together. All 0 where accounting
  /// is off.
  PhaseTimes phases;
  /// The same of every rank, in rank order; none where accounting is off.
  std::vector<PhaseTimes> phases_by_rank;
  /// Of rank 0 in the same steps.
  std::vector<profile::CollectiveUse> collectives;
  std::vector<profile::UnitUse> units;
  /// How far apart the ranks were; nothing where there is one, or accounting is off.
  profile::Imbalance imbalance;
  /// One per rank.
  std::vector<MemoryUse> memory;
  /// Who has other weights than most, after the last step; unset where nobody looked.
  std::optional<std::vector<OddWeights>> odd_weights;
  /// Time of each epoch that was finished.
  std::vector<Seconds> epochs;
  /// Folder that the trained model was written to; empty when it was not.
  std::string exported;
  /// Why it ended before its last step, such as "interrupted by SIGTERM"; empty when it did not.
  std::string interrupted;
  /// The signal that ended it; 0 when none did.
  int signal = 0;
};

/// Someone who is told how a run goes. Only rank 0 has any. Calls come in the order below, from one
/// thread; a sink that cannot write throws IoError.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void start(const RunInfo& info) = 0;
  virtual void step(const StepRecord& step, const Progress& progress) = 0;
  virtual void evaluation(const EvaluationRecord& evaluation) = 0;
  /// A text that the model continued.
  virtual void sample(std::int64_t step, const std::string& text) = 0;
  virtual void end(const Summary& summary) = 0;
};

}  // namespace sheaf::train
