#pragma once

#include <array>
#include <cstdint>

namespace sheaf::models {

// What the classifiers look at: MNIST's digits.
inline constexpr std::int64_t kImageSide = 28;
inline constexpr std::int64_t kImageClasses = 10;

/// Channels after each convolution of the CNN; each is followed by a pooling that halves the image.
inline constexpr std::array<std::int64_t, 3> kChannels{32, 64, 128};
/// Side of a convolution's window.
inline constexpr std::int64_t kWindow = 5;

}  // namespace sheaf::models
