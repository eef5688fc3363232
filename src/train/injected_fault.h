#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"

namespace sheaf::train {

enum class FaultKind {
  kill,
  stop,
  slow,
  drop_call,
  delay_call,
  flip_gradient,
  set_gradient,
  negate_gradients,
  flip_weight,
  flip_file,
  truncate_file,
  full_disk
};

constexpr auto enum_names(FaultKind) {
  return std::array{EnumName{"kill", FaultKind::kill},
                    EnumName{"stop", FaultKind::stop},
                    EnumName{"slow", FaultKind::slow},
                    EnumName{"drop_call", FaultKind::drop_call},
                    EnumName{"delay_call", FaultKind::delay_call},
                    EnumName{"flip_gradient", FaultKind::flip_gradient},
                    EnumName{"set_gradient", FaultKind::set_gradient},
                    EnumName{"negate_gradients", FaultKind::negate_gradients},
                    EnumName{"flip_weight", FaultKind::flip_weight},
                    EnumName{"flip_file", FaultKind::flip_file},
                    EnumName{"truncate_file", FaultKind::truncate_file},
                    EnumName{"full_disk", FaultKind::full_disk}};
}

/// A fault that a drill makes happen.
struct InjectedFault {
  FaultKind kind = FaultKind::kill;
  int rank = 0;
  /// Counted from 1, as the log does.
  std::int64_t step = 0;
  /// How many steps it lasts: slow, negate_gradients and full_disk.
  std::int64_t steps = 1;
  /// Part of the name of a unit (calls) or of a parameter (gradients, weights); empty: the first.
  std::string where;
  /// How long something takes: slow and delay_call.
  Seconds time{1};
  /// Which bit is flipped; -1: one that is noticed.
  int bit = -1;
  /// What a gradient is set to.
  double value = std::numeric_limits<double>::quiet_NaN();
  /// As it was written.
  std::string text;

  [[nodiscard]] bool lasts() const {
    return kind == FaultKind::slow || kind == FaultKind::negate_gradients ||
           kind == FaultKind::full_disk;
  }
  [[nodiscard]] bool is_on(int own_rank, std::int64_t now) const {
    return rank == own_rank && now >= step && now < step + (lasts() ? steps : 1);
  }
};

/// Reads KIND:key=value:key=value, such as "slow:rank=1:step=3:time=200ms". Throws UsageError that
/// says what is possible.
[[nodiscard]] InjectedFault parse_fault(const std::string& text);

}  // namespace sheaf::train
