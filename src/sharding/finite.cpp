#include "finite.h"

#include <ATen/ops/isfinite.h>

#include <algorithm>

#include "chunks.h"

namespace sheaf::sharding {

bool is_finite(const at::Tensor& values) {
  const std::int64_t chunk = chunk_on(values.device());
  for (std::int64_t begin = 0; begin < values.numel(); begin += chunk) {
    const std::int64_t size = std::min(chunk, values.numel() - begin);
    if (!at::isfinite(values.narrow(0, begin, size)).all().item<bool>()) return false;
  }
  return true;
}

}  // namespace sheaf::sharding
