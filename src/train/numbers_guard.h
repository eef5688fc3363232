#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "sheaf/base/error.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/options.h"
#include "sheaf/train/step.h"

namespace sheaf::train {

/// The run has to go back to its newest checkpoint; all ranks throw it at the same step.
class RollBack : public Error {
 public:
  using Error::Error;
};

/// Holds the numbers of every step against what the section `fault` allows, before they are used.
class NumbersGuard {
 public:
  /// `speaks`: whether this rank writes to the log.
  NumbersGuard(const RunOptions& options, sharding::State state, bool speaks);

  /// Tells whether the update may be made; false leaves it out. Throws Diverged or RollBack. The
  /// numbers are those of all ranks, and so is the answer.
  [[nodiscard]] bool approve(const StepNumbers& numbers);
  /// The run has gone back and will take the step after this one again.
  void went_back_to(std::int64_t step);

 private:
  [[nodiscard]] std::string name_parameters() const;
  [[nodiscard]] std::string find_spike(const StepNumbers& numbers) const;
  [[nodiscard]] bool decide(OnBadNumbers policy, const StepNumbers& numbers, std::string problem);
  [[nodiscard]] bool skip(const std::string& problem);
  void remember(const StepNumbers& numbers);

  struct Loss {
    std::int64_t step;
    double value;
  };

  FaultSection section_;
  double learning_rate_;
  sharding::State state_;
  bool speaks_;
  std::deque<Loss> losses_;
  std::int64_t skipped_in_a_row_ = 0;
  /// The last step that the run went back for; a second time it is left out.
  std::set<std::int64_t> gone_back_for_;
};

}  // namespace sheaf::train
