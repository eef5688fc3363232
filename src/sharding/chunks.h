#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace sheaf::sharding {

/// Elements looked at in one go: on the CPU as many as stay in its caches, on a GPU as many as
/// launches are worth.
[[nodiscard]] inline std::int64_t chunk_on(at::Device device) {
  return device.is_cpu() ? std::int64_t{1} << 16 : std::int64_t{1} << 26;
}

}  // namespace sheaf::sharding
