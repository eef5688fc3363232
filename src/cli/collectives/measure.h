#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/comm/group.h"

namespace sheaf::cli {

struct MeasureOptions {
  /// Size of the whole tensor, as comm::Traffic counts it.
  Bytes size = mebibytes(64);
  int repeats = 10;
  /// Takes tensors from Group::shared_empty().
  bool shared_tensors = false;
};

/// The collectives that are measured: those that move a model's parameters and gradients.
[[nodiscard]] std::span<const comm::Kind> measured_kinds();

/// Returns the median time of one call, that of the slowest rank. Every rank must call it.
[[nodiscard]] Seconds measure(const comm::Group& group,
                              comm::Kind kind,
                              const MeasureOptions& options);

/// The same for any call: `call` runs once per repeat, and ranks meet before each.
[[nodiscard]] Seconds measure(const comm::Group& group,
                              int repeats,
                              const std::function<void()>& call);

}  // namespace sheaf::cli
