#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sheaf/train/options.h"

namespace sheaf::train {

/// What options alone do not say about a run.
struct GraphSetting {
  /// See comm::Group::backend().
  std::string_view backend;
  /// Of the model, of any sort.
  double dropout = 0;
  /// Somebody plans faults.
  bool has_drill = false;
  /// Somebody counts the memory of each block.
  bool labels_memory = false;
  bool has_scaler = false;
  /// The host looks at a step's numbers before its update.
  bool is_guarded = false;
};

/// Returns why steps of a run cannot be recorded as a CUDA graph, as the end of a sentence; nothing
/// where they can. Steps may still have to run alone, such as those that a trace is made of.
[[nodiscard]] std::optional<std::string> graph_obstacle(const RunOptions& options,
                                                        const GraphSetting& setting);

}  // namespace sheaf::train
