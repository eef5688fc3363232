#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kernel_classes.h"
#include "step_work.h"

namespace sheaf::bench {

/// The speed of light: what a step takes where every product and attention runs at its best
/// measured time and every byte moves at the speed of a copy.
struct Light {
  /// By long stretches of each product, of attention and of a copy, timed once the card has
  /// settled.
  std::map<KernelClass, double> milliseconds;
  /// The same by bursts, at clocks that the card may not hold.
  std::map<KernelClass, double> burst_milliseconds;
  /// Products and attention together where whole steps of them follow each other for seconds; unset
  /// where that was not measured.
  std::optional<double> replayed_ms;
  /// What light.py has measured.
  nlohmann::json measured;

  [[nodiscard]] double step_ms() const;
  [[nodiscard]] double burst_step_ms() const;
  /// Returns step_ms() with products and attention as they were replayed.
  [[nodiscard]] std::optional<double> sustained_ms() const;
};

/// Returns what light.py is to measure.
[[nodiscard]] nlohmann::json questions_of(const StepWork& work, const Row& row);

/// Adds up the answers. Throws Error if one is missing.
[[nodiscard]] Light light_of(const StepWork& work, const nlohmann::json& measured);

}  // namespace sheaf::bench
