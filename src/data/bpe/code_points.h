#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sheaf::data::bpe {

/// One character and the bytes it takes; no bytes where they are not well-formed UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;
};

/// Returns the character at the beginning of `text`, which may be anything but empty.
[[nodiscard]] CodePoint read_code_point(std::string_view text);

/// Returns the same for text that is known to be well-formed, without looking again.
[[nodiscard]] inline CodePoint known_code_point(const char* at) {
  const auto byte = [at](int i) {
    return static_cast<char32_t>(static_cast<unsigned char>(at[i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0) return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f),
          4};
}

/// Returns whether this byte continues a character instead of beginning one.
[[nodiscard]] constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Returns how many bytes at the beginning are well-formed UTF-8.
[[nodiscard]] std::size_t valid_prefix(std::string_view text);
/// Returns how many bytes at the beginning belong to no character.
[[nodiscard]] std::size_t invalid_prefix(std::string_view text);
/// Returns whether all bytes are ASCII.
[[nodiscard]] bool is_ascii(std::string_view text);

}  // namespace sheaf::data::bpe
