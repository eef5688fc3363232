#include "allocations.h"

#include <c10/util/Exception.h>

namespace sheaf::comm::shared {
namespace {

// Threads see each other's memory: the offset is the address itself.
constexpr std::int64_t kSameProcess = -1;

}  // namespace

std::int64_t Allocations::add(std::shared_ptr<Segment> segment, std::size_t stride) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({++num_added_, std::move(segment), stride});
  return num_added_;
}

void Allocations::remove(std::int64_t allocation) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.allocation == allocation; });
}

Place Allocations::place_of(const std::byte* data, std::size_t bytes) const {
  if (ranks_ == Ranks::threads) return {kSameProcess, reinterpret_cast<std::int64_t>(data)};
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    const std::byte* own = entry.segment->data() + static_cast<std::size_t>(rank_) * entry.stride;
    if (data >= own && data + bytes <= own + entry.stride) return {entry.allocation, data - own};
  }
  return {};
}

std::byte* Allocations::pointer_to(int rank, const Place& place) const {
  if (place.allocation == kSameProcess) return reinterpret_cast<std::byte*>(place.offset);
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.allocation != place.allocation) continue;
    return entry.segment->data() + static_cast<std::size_t>(rank) * entry.stride + place.offset;
  }
  TORCH_INTERNAL_ASSERT(
      false, "a peer named a shared tensor that is gone here: ", place.allocation);
}

}  // namespace sheaf::comm::shared
