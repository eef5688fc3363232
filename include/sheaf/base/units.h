#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

/// A number of bytes; written and read as "64MiB", "1.5GiB", "512".
struct Bytes {
  std::int64_t count = 0;
  // clang-tidy 14 takes the defaulted comparison for a zero pointer.
  auto operator<=>(const Bytes&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// A span of time in seconds; written and read as "30s", "5min", "250ms".
using Seconds = std::chrono::duration<double>;

[[nodiscard]] constexpr Bytes kibibytes(std::int64_t count) { return {count << 10}; }
[[nodiscard]] constexpr Bytes mebibytes(std::int64_t count) { return {count << 20}; }
[[nodiscard]] constexpr Bytes gibibytes(std::int64_t count) { return {count << 30}; }

/// Returns a short text for people, such as "64.0 MiB" or "12.3 ms".
[[nodiscard]] std::string to_string(Bytes bytes);
[[nodiscard]] std::string to_string(Seconds seconds);

/// Reads a size with an optional unit (B, KiB, MiB, GiB, TiB, or kB, MB, GB, TB by thousands).
/// Throws UsageError that names the text.
[[nodiscard]] Bytes parse_bytes(std::string_view text);
/// Reads a time with an optional unit (us, ms, s, min, h; none is seconds). Throws UsageError.
[[nodiscard]] Seconds parse_seconds(std::string_view text);

}  // namespace sheaf
