#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/checksum.h"

namespace sheaf::data {

/// The first 64 bytes of a token file as they lie on the disk; see Note [Token files].
struct TokenFileHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t bytes_per_token = 2;
  std::uint64_t tokens = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t tokenizer_hash = 0;
  std::uint64_t documents = 0;
  std::uint64_t checksum = 0;
  std::uint64_t reserved = 0;

  static constexpr std::array<char, 8> kMagic{'S', 'H', 'E', 'A', 'F', 'T', 'O', 'K'};
  static constexpr std::uint32_t kVersion = 1;

  /// Returns the checksum of this header with what comes after it.
  [[nodiscard]] std::uint64_t checksum_with(std::uint64_t payload_checksum) const {
    const auto bytes = std::as_bytes(std::span(this, 1));
    return checksum_of(bytes.first(offsetof(TokenFileHeader, checksum)), payload_checksum);
  }
};
static_assert(sizeof(TokenFileHeader) == 64);
static_assert(std::endian::native == std::endian::little, "token files are little-endian");

/// Returns the zeros between tokens and documents.
[[nodiscard]] constexpr std::uint64_t padding_after(std::uint64_t token_bytes) {
  return (8 - token_bytes % 8) % 8;
}

}  // namespace sheaf::data
