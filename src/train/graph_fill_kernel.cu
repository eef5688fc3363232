#include "graph_fill_kernel.h"

namespace sheaf::train {
namespace {

__device__ void store(std::uint8_t* row, std::uint32_t column, std::uint32_t pattern) {
  constexpr std::uint32_t kPatternBytes = 4, kBits = 8;
  row[column] = static_cast<std::uint8_t>(pattern >> (column % kPatternBytes * kBits));
}

__device__ void store(std::uint32_t* row, std::uint32_t column, std::uint32_t pattern) {
  row[column] = pattern;
}

__device__ void store(uint4* row, std::uint32_t column, std::uint32_t pattern) {
  row[column] = make_uint4(pattern, pattern, pattern, pattern);
}

template <class Stored>
__global__ void __launch_bounds__(kGraphFillThreads) fill(GraphFill all) {
  const std::uint32_t first = blockIdx.x * kGraphFillThreads + threadIdx.x;
  for (std::uint32_t i = first; i < all.stores; i += gridDim.x * kGraphFillThreads) {
    const std::uint32_t row = i / all.stores_per_row;
    store(reinterpret_cast<Stored*>(all.target + row * all.pitch),
          i - row * all.stores_per_row,
          all.pattern);
  }
}

}  // namespace

const void* graph_fill_kernel(std::size_t width) {
  if (width == sizeof(uint4)) return reinterpret_cast<const void*>(fill<uint4>);
  if (width == sizeof(std::uint32_t)) return reinterpret_cast<const void*>(fill<std::uint32_t>);
  return reinterpret_cast<const void*>(fill<std::uint8_t>);
}

}  // namespace sheaf::train
