#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::testing {

/// Returns eight bytes, the lowest first.
inline std::string raw_length(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

/// Returns the bytes of a safetensors file, right or wrong.
inline std::string raw_file(std::string_view header, std::string_view values = "") {
  return raw_length(header.size()) + std::string(header) + std::string(values);
}

}  // namespace sheaf::testing
