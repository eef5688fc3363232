#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf::data::bpe {

/// The letters that GPT-2's files write for bytes: printable ones stand for themselves, the others
/// for characters from U+0100 on, so that a space is written as U+0120.
class ByteAlphabet {
 public:
  ByteAlphabet();

  /// Returns the letters of bytes, as UTF-8.
  [[nodiscard]] std::string letters_of(std::string_view bytes) const;
  /// Returns the bytes of letters; nothing if one of them stands for no byte.
  [[nodiscard]] std::optional<std::string> bytes_of(std::string_view letters) const;
  /// Returns the character that stands for a byte.
  [[nodiscard]] char32_t letter(unsigned char byte) const { return letters_.at(byte); }

 private:
  static constexpr std::size_t kEnd = 0x144;

  std::array<char32_t, 256> letters_{};
  /// Bytes by letter, -1 where a character is no letter.
  std::array<int, kEnd> bytes_{};
};

}  // namespace sheaf::data::bpe
