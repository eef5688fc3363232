#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sheaf::data {

/// Returns whether bytes begin as gzip files do.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// Unpacks a whole gzip file. Throws UsageError, which names `path`, if it is damaged, ends too
/// early, or unpacks to more than `limit` bytes.
[[nodiscard]] std::vector<std::byte> unpack_gzip(std::span<const std::byte> bytes,
                                                 std::size_t limit,
                                                 const std::string& path);

}  // namespace sheaf::data
