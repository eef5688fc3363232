#pragma once

#include <cstdint>

namespace sheaf::data {

/// Returns 64 bits that look random but depend only on the two numbers: the finaliser of
/// splitmix64, twice, so that every bit of both reaches every bit of the result.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  const auto scrambled = [](std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  };
  return scrambled(scrambled(seed + 0x9e3779b97f4a7c15) + value);
}

/// Returns a number from 0 to `count` - 1 out of the upper bits of `random`; `count` below 2^32.
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t count, std::uint64_t random) {
  return ((random >> 32) * count) >> 32;
}

}  // namespace sheaf::data
