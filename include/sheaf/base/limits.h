#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf {

/// What numbers are allowed; made by at_least, at_most, between and positive.
struct Bounds {
  // The 64 bits of mantissa (more on other processors than x86) hold every int64 and every double.
  std::optional<long double> low = std::nullopt;
  std::optional<long double> high = std::nullopt;
  bool low_is_excluded = false;
};

/// What texts are allowed; made by one_of.
struct OneOf {
  std::vector<std::string> texts;
};

namespace detail {
template <class Number>
long double edge(Number number) {
  return static_cast<long double>(number);
}
inline long double edge(Bytes bytes) { return static_cast<long double>(bytes.count); }
inline long double edge(Seconds seconds) { return seconds.count(); }
}  // namespace detail

/// Limits a number, size or time, or each number of a list.
template <class Number>
[[nodiscard]] Bounds at_least(Number low) {
  return {.low = detail::edge(low)};
}
template <class Number>
[[nodiscard]] Bounds at_most(Number high) {
  return {.high = detail::edge(high)};
}
template <class Number>
[[nodiscard]] Bounds between(Number low, Number high) {
  return {.low = detail::edge(low), .high = detail::edge(high)};
}
[[nodiscard]] inline Bounds positive() { return {.low = 0, .low_is_excluded = true}; }
/// Limits a text, or each text of a list.
[[nodiscard]] inline OneOf one_of(std::vector<std::string> texts) { return {std::move(texts)}; }

}  // namespace sheaf
