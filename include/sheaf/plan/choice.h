#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/memory.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

/// Returns the strategies that a number of devices can take, the simplest first: one device has
/// nothing to cut. `base` says everything else. Several copies of a cut model are among them if
/// `node` devices with fast links fit into the whole at least twice.
[[nodiscard]] std::vector<Setting> strategies_for(const Setting& base, int devices, int node);

/// A strategy, and what follows from it for one batch.
struct Candidate {
  Setting setting;
  Prediction memory;
  /// What a rank sends in a step.
  Bytes sent;
};

[[nodiscard]] Candidate consider(const Architecture& model, const Setting& setting);

/// Where the search for the largest batch ends: nobody takes more texts at a time.
inline constexpr std::int64_t kMostTexts = 4096;

/// Returns the largest number of texts per rank and pass that fits; 0 if none does, and `most` if
/// that fits, and perhaps more.
[[nodiscard]] std::int64_t largest_batch(const Architecture& model,
                                         Setting setting,
                                         Bytes memory,
                                         std::int64_t most = kMostTexts);

struct Recommendation {
  /// Which candidate; unset if none fits.
  std::optional<std::size_t> index;
  std::string reason;
};

/// Note [Choosing a strategy]: of the candidates that fit, those that send least; of these, the
/// simplest that leaves a tenth of the memory free; if all are tighter than that, the one that
/// holds least. Candidates are in the order of strategies_for().
[[nodiscard]] Recommendation recommend(const std::vector<Candidate>& candidates, Bytes memory);

}  // namespace sheaf::plan
