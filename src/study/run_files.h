#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/json.h"

namespace sheaf::study {

/// What a run's folder tells of its last run: see docs/metrics.md.
struct RunFiles {
  std::string folder;
  Json start;
  /// In order; of a step that was done again only the later line.
  std::vector<Json> steps;
  /// Unset while a run goes on, or if it died.
  std::optional<Json> end;
  /// Null where there is no such file.
  Json environment;
};

/// Reads metrics.jsonl and environment.json. Lines that are not whole yet are left out. Throws
/// UsageError if there is no run in the folder.
[[nodiscard]] RunFiles read_run(const std::filesystem::path& folder);

/// Returns the seconds of the steps that count for speeds: those after the warm-up.
[[nodiscard]] std::vector<double> counted_seconds(const RunFiles& run);

/// Returns the value below which a part of all lie, such as 0.5 for the median; 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double part);

}  // namespace sheaf::study
