#include "tiles.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu.h"

namespace sheaf::nn {
namespace {

// Rows or columns that are worth copying the other factor.
constexpr std::int64_t kFewest = 16;
constexpr std::uintptr_t kCacheLine = 64;

/// Returns memory of this thread: a product needs more of it than is cheap to ask for each time.
float* scratch() {
  constexpr auto kSpare = static_cast<std::int64_t>(kCacheLine / sizeof(float));
  thread_local std::vector<float> room(static_cast<std::size_t>(kTileScratch + kSpare));
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  return room.data() + (kCacheLine - address % kCacheLine) % kCacheLine / sizeof(float);
}

}  // namespace

bool has_tiles() { return best_kernels().multiply != nullptr; }

bool prefers_tiles(std::int64_t rows, std::int64_t columns) {
  static const bool kPreferred = has_tiles() && !is_made_by_intel();
  return kPreferred && std::min(rows, columns) >= kFewest;
}

void multiply_by_tiles(const TiledProduct& all) {
  TORCH_INTERNAL_ASSERT(has_tiles());
  best_kernels().multiply(all, scratch());
}

}  // namespace sheaf::nn
