#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/recorder.h"
#include "sheaf/base/units.h"
#include "sheaf/profile/intervals.h"
#include "sheaf/profile/step_times.h"

namespace sheaf::profile {

/// Exchanges of one sort, together.
struct Exchanged {
  std::int64_t calls = 0;
  Bytes bytes;
  Seconds time{0};

  Exchanged& operator+=(const Exchanged& other);
};

/// One collective for one purpose: all_gather of parameters.
struct CollectiveUse {
  std::string collective;
  std::string purpose;
  Exchanged exchanged;
};

/// Returns what one collective has exchanged for one purpose; makes the row where there is none.
[[nodiscard]] Exchanged& exchanged_in(std::vector<CollectiveUse>& rows,
                                      std::string_view collective,
                                      std::string_view purpose);

/// What one unit cost. Its times are those in which the rank computed, without the units inside it.
struct UnitUse {
  std::string unit;
  Seconds forward{0};
  Seconds backward{0};
  Exchanged gathers;
  Exchanged reduces;
};

/// One rank's step, or several.
struct Account {
  StepTimes times;
  std::vector<CollectiveUse> collectives;
  std::vector<UnitUse> units;

  Account& operator+=(const Account& other);
};

/// Works out where the time of `window` went from what was recorded in it. The spans are cut at the
/// window's ends; `recorder` has their names.
[[nodiscard]] Account account(std::span<const Span> spans,
                              const Interval& window,
                              const Recorder& recorder);

}  // namespace sheaf::profile
