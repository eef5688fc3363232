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
  at::Device device = at::kCPU;
};

/// The collectives that are measured: those that move a model's parameters and gradients.
[[nodiscard]] std::span<const comm::Kind> measured_kinds();

/// Returns the median time of one call, that of the slowest rank. Every rank must call it.
[[nodiscard]] Seconds measure(const comm::Group& group,
                              comm::Kind kind,
                              const MeasureOptions& options);

/// Runs `call` once per repeat; ranks meet before each.
struct Trial {
  int repeats = 10;
  std::function<void()> call;
  /// Where the ranks' times are compared.
  at::Device device = at::kCPU;
};
/// The same for any call.
[[nodiscard]] Seconds measure(const comm::Group& group, const Trial& trial);

}  // namespace sheaf::cli
