#pragma once

#include <array>
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
  /// Return the speed that is reached, as a part of the light's; unset where that is not known.
  [[nodiscard]] std::optional<double> part_of_light(double step_ms) const;
  [[nodiscard]] std::optional<double> part_of_burst_light(double step_ms) const;
  [[nodiscard]] std::optional<double> part_of_sustained_light(double step_ms) const;
  /// Returns how much longer sheaf's step is than the recorded one was, less than 0 where it is
  /// shorter; 0 where there are not both.
  [[nodiscard]] double not_recorded_ms() const;
};

inline constexpr const char* kPlain = "PyTorch eager, as it comes";
inline constexpr const char* kEager = "PyTorch eager, tuned";
inline constexpr const char* kCompile = "torch.compile";
inline constexpr const char* kSheaf = "sheaf";

/// What sheaf is compared with, in the order of the table's columns.
inline constexpr std::array<const char*, 3> kPyTorchSides = {kPlain, kEager, kCompile};

/// Returns everything, for a file.
[[nodiscard]] nlohmann::json json_of(const Results& results);

}  // namespace sheaf::bench
