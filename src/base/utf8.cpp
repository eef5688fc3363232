#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace sheaf {
namespace {

// Returns how many bytes follow the first one of a character; -1 if none starts like this.
int num_following(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  if (first >= 0xf0 && first < 0xf5) return 3;
  return -1;
}

bool is_character(std::uint32_t code, int following) {
  if (following == 2) return code >= 0x800 && (code < 0xd800 || code > 0xdfff);
  if (following == 3) return code >= 0x10000 && code <= 0x10ffff;
  return true;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const int following = num_following(first);
    if (following < 0 || text.size() <= static_cast<std::size_t>(following)) return false;
    std::uint32_t code = following == 0 ? first : first & (0x3fU >> following);
    for (int i = 1; i <= following; ++i) {
      const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
      if ((byte & 0xc0) != 0x80) return false;
      code = (code << 6) | (byte & 0x3fU);
    }
    if (!is_character(code, following)) return false;
    text.remove_prefix(static_cast<std::size_t>(following) + 1);
  }
  return true;
}

std::size_t unfinished_bytes(std::string_view text) {
  constexpr std::size_t kMost = 3;
  for (std::size_t size = 1; size <= std::min(kMost, text.size()); ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if ((byte & 0xc0) == 0x80) continue;
    return num_following(byte) >= static_cast<int>(size) ? size : 0;
  }
  return 0;
}

}  // namespace sheaf
