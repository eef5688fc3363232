#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "kernel_classes.h"
#include "step_work.h"

namespace sheaf::bench {

/// The speed of light: what a step takes where every product and attention runs at its best
/// measured time and every byte moves at the speed of a copy.
struct Light {
  std::map<KernelClass, double> milliseconds;
  /// What light.py has measured.
  nlohmann::json measured;

  [[nodiscard]] double step_ms() const;
};

/// Returns what light.py is to measure.
[[nodiscard]] nlohmann::json questions_of(const StepWork& work, const Row& row);

/// Adds up the answers. Throws Error if one is missing.
[[nodiscard]] Light light_of(const StepWork& work, const nlohmann::json& measured);

}  // namespace sheaf::bench
