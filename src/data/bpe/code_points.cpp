#include "data/bpe/code_points.h"

#include <cstring>

namespace sheaf::data::bpe {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;

// Returns the bytes of the character that begins like this; 0 if none does.
std::size_t size_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

// Overlong forms, surrogates and what lies beyond Unicode are no characters.
bool is_character(char32_t value, std::size_t size) {
  if (size == 3) return value >= 0x800 && (value < 0xd800 || value > 0xdfff);
  if (size == 4) return value >= 0x10000 && value <= 0x10ffff;
  return true;
}

// Returns how many bytes at the beginning are ASCII, in steps of eight.
std::size_t ascii_blocks(std::string_view text) {
  std::size_t at = 0;
  std::uint64_t block = 0;
  while (at + sizeof(block) <= text.size()) {
    std::memcpy(&block, text.data() + at, sizeof(block));
    if ((block & kHighBits) != 0) break;
    at += sizeof(block);
  }
  return at;
}

}  // namespace

CodePoint read_code_point(std::string_view text) {
  const std::size_t size = size_after(static_cast<unsigned char>(text.front()));
  if (size == 0 || text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if (!continues_character(text[i])) return {};
  }
  const CodePoint point = known_code_point(text.data());
  return is_character(point.value, size) ? point : CodePoint{};
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t at = ascii_blocks(text);
  while (at < text.size()) {
    const std::size_t size = read_code_point(text.substr(at)).size;
    if (size == 0) break;
    at += size;
    if (size == 1) at += ascii_blocks(text.substr(at));
  }
  return at;
}

std::size_t invalid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && read_code_point(text.substr(at)).size == 0) ++at;
  return at;
}

bool is_ascii(std::string_view text) {
  for (std::size_t at = ascii_blocks(text); at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  }
  return true;
}

}  // namespace sheaf::data::bpe
