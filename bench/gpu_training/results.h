#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "budget.h"
#include "contestants.h"
#include "light.h"

namespace sheaf::bench {

/// The card's dense bf16 products, which MFU is counted with whatever the arithmetic.
inline constexpr double kPeakFlops = 989e12;

/// One line of the table.
struct Side {
  std::string name;
  Figures figures;
};

/// What a run of the benchmark has found so far.
struct Results {
  Contest contest;
  std::string command;
  std::string date;
  std::string versions;
  /// The card's clocks and power, before and after.
  std::string gpu_before;
  std::string gpu_after;
  std::optional<Light> light;
  std::vector<Side> sides;
  std::optional<Budget> budget;
  /// What failed, and why.
  std::vector<std::string> failures;

  /// Returns the figures of a side; null where it did not run.
  [[nodiscard]] const Figures* find(const std::string& side) const;
  [[nodiscard]] double tokens_per_second(double step_ms) const;
  [[nodiscard]] double mfu(double step_ms) const;
};

inline constexpr const char* kEager = "PyTorch eager";
inline constexpr const char* kCompile = "torch.compile";
inline constexpr const char* kSheaf = "sheaf";

/// Returns everything, for a file.
[[nodiscard]] nlohmann::json json_of(const Results& results);

}  // namespace sheaf::bench
