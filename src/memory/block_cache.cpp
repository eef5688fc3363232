#include "block_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace sheaf::memory {
namespace {

constexpr std::size_t kGrain = std::size_t{64} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t grain) {
  return (value + grain - 1) / grain * grain;
}

void* map(std::size_t num_bytes) {
  void* const data =
      mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return data;
}

/// Maps memory that begins at a huge page's border, and asks for huge pages.
void* map_huge(std::size_t num_bytes) {
  const std::size_t padded = num_bytes + kHugePage;
  auto* const raw = static_cast<std::byte*>(map(padded));
  const std::size_t before = round_up(reinterpret_cast<std::uintptr_t>(raw), kHugePage) -
                             reinterpret_cast<std::uintptr_t>(raw);
  std::byte* const data = raw + before;
  if (before > 0) munmap(raw, before);
  if (before < kHugePage) munmap(data + num_bytes, kHugePage - before);
  madvise(data, num_bytes, MADV_HUGEPAGE);  // a wish: small pages work as well
  return data;
}

}  // namespace

BlockCache::~BlockCache() {
  for (const auto& [capacity, block] : free_) munmap(block.data, capacity);
}

BlockCache::Block BlockCache::take(std::size_t num_bytes) {
  const std::size_t wanted = round_up(num_bytes, kGrain);
  if (wanted < num_bytes) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  const auto found = free_.lower_bound(wanted);
  const bool fits = found != free_.end() && found->first <= wanted + wanted / 8;
  Block block;
  if (fits) {
    block = {found->second.data, found->first};
    kept_ -= block.capacity;
    free_.erase(found);
  } else {
    // Room first, so that the process never holds both.
    release_beyond(std::max(peak_in_use_, in_use_ + wanted) - wanted);
    block = {wanted >= kHugePage ? map_huge(wanted) : map(wanted), wanted};
  }
  in_use_ += block.capacity;
  peak_in_use_ = std::max(peak_in_use_, in_use_);
  return block;
}

void BlockCache::give_back(Block block) {
  const std::lock_guard lock(mutex_);
  in_use_ -= block.capacity;
  kept_ += block.capacity;
  free_.emplace(block.capacity, Kept{block.data, ++clock_});
}

std::size_t BlockCache::reserved() const {
  const std::lock_guard lock(mutex_);
  return in_use_ + kept_;
}

std::size_t BlockCache::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

/// Gives the blocks that were kept longest back to the system until everything fits into `limit`.
void BlockCache::release_beyond(std::size_t limit) {
  while (!free_.empty() && in_use_ + kept_ > limit) {
    const auto oldest = std::min_element(free_.begin(), free_.end(), [](auto& a, auto& b) {
      return a.second.since < b.second.since;
    });
    munmap(oldest->second.data, oldest->first);
    kept_ -= oldest->first;
    free_.erase(oldest);
  }
}

}  // namespace sheaf::memory
