#pragma once

#include <cstdint>

namespace sheaf::models {

// Far above any model, and low enough that sums of products of three sizes fit into 64 bits.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 22;
inline constexpr std::int64_t kMostLayers = std::int64_t{1} << 12;

}  // namespace sheaf::models
