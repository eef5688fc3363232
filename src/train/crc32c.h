#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::train {

/// Returns the CRC-32C (Castagnoli) of the bytes.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// Returns it as TFRecord files store it: turned and moved, because the CRC of bytes that hold
/// their own CRC would say little.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace sheaf::train
