#pragma once

#include "sheaf/base/units.h"

namespace sheaf::profile {

/// Where the time of a step went, on one rank. All but hidden communication do not overlap and add
/// up to the step's time.
struct StepTimes {
  Seconds data_wait{0};
  Seconds forward{0};
  Seconds backward{0};
  /// Exchanges while this rank computed nothing, wherever in the step; not part of the others.
  Seconds exposed_communication{0};
  /// Clipping and the optimizer.
  Seconds optimizer{0};
  /// Neither computing nor exchanging.
  Seconds idle{0};
  /// Exchanges while this rank computed, which so cost nothing.
  Seconds hidden_communication{0};

  [[nodiscard]] Seconds compute() const { return forward + backward; }
  [[nodiscard]] Seconds communication() const {
    return exposed_communication + hidden_communication;
  }
  [[nodiscard]] Seconds total() const;
  StepTimes& operator+=(const StepTimes& other);
};

}  // namespace sheaf::profile
