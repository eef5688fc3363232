#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sheaf {

/// What SHA-256 makes of any text.
using Digest = std::array<std::byte, 32>;

/// Returns the SHA-256 (FIPS 180-4) of `text`.
[[nodiscard]] Digest sha256(std::string_view text);
/// Returns HMAC-SHA-256 (RFC 2104): only who knows `key` can make or check it.
[[nodiscard]] Digest hmac_sha256(std::string_view key, std::string_view message);
/// Compares in a time that does not tell where the first difference is.
[[nodiscard]] bool same_digest(std::string_view a, std::string_view b);

[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace sheaf
