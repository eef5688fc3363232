#pragma once

#include <cstddef>
#include <cstdint>

// Free of torch: nvcc reads this too.

namespace sheaf::train {

/// Rows of memory and what is written there, in stores of 1, 4 or 16 bytes.
struct GraphFill {
  std::byte* target = nullptr;
  /// Bytes from the beginning of a row to that of the next.
  std::size_t pitch = 0;
  std::uint32_t stores_per_row = 0;
  std::uint32_t stores = 0;
  /// Four bytes, the lowest first; each row begins with the first.
  std::uint32_t pattern = 0;
};

/// Threads of each block of the kernel; any number of blocks does.
inline constexpr unsigned kGraphFillThreads = 256;

/// Returns the kernel for stores of `width` bytes, whose only argument is a GraphFill.
[[nodiscard]] const void* graph_fill_kernel(std::size_t width);

}  // namespace sheaf::train
