#pragma once

#include <cstdint>
#include <string>

namespace sheaf::data {

/// Returns a short story of a small grammar: plain ASCII, a few sentences on one line that ends
/// with a newline. The same for the same numbers, on every machine.
[[nodiscard]] std::string story(std::uint64_t seed, std::int64_t index);

/// Returns exactly `size` bytes: story after story, a blank line between them, the last one cut.
[[nodiscard]] std::string stories(std::uint64_t seed, std::int64_t size);

}  // namespace sheaf::data
