#pragma once

#include <string_view>

#include "study/json.h"

namespace sheaf::study {

inline constexpr std::string_view kMfuBands =
    "MFU above 50 % is excellent, from 40 % on very good, from 30 % on good, below that poor.";

/// Returns the word for a part of the peak speed, as published studies have it; null for null.
[[nodiscard]] inline Json mfu_band(const Json& mfu) {
  if (!mfu.is_number()) return {};
  const double part = mfu;
  if (part > 0.5) return "excellent";
  if (part >= 0.4) return "very good";
  return part >= 0.3 ? "good" : "poor";
}

}  // namespace sheaf::study
