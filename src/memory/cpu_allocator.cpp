#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "block_cache.h"
#include "sheaf/memory/cpu_reuse.h"
#include "sheaf/memory/cpu_usage.h"

namespace sheaf::memory {
namespace {

/// Bytes in use and the most there were. The counts guard no other memory, so relaxed order will
/// do.
class Counter {
 public:
  /// Returns what is in use after it.
  std::int64_t add(std::int64_t count) {
    const std::int64_t now = current_.fetch_add(count, std::memory_order_relaxed) + count;
    std::int64_t seen = peak_.load(std::memory_order_relaxed);
    while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
    return now;
  }

  [[nodiscard]] CpuUsage usage() const {
    const std::int64_t current = current_.load(std::memory_order_relaxed);
    const std::int64_t peak = peak_.load(std::memory_order_relaxed);
    // Another thread may have allocated in the middle of a reset.
    return {.current = {current}, .peak = {std::max(current, peak)}};
  }

  void reset_peak() {
    peak_.store(current_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> current_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

/// Stands in front of every block, as wide as the alignment that tensors are promised.
struct alignas(c10::gAlignment) Header {
  std::size_t num_bytes = 0;
  /// Bytes of the whole block if it came from the cache, else 0.
  std::size_t cached_capacity = 0;
};
static_assert(sizeof(Header) == c10::gAlignment);

constexpr auto kCpu = c10::DeviceType::CPU;
// Smaller blocks stay in the heap, which reuses them by itself.
constexpr std::size_t kSmallestReused = std::size_t{256} << 10;

// LibTorch also allocates and frees plain pointers, so a block's context must be its data and its
// size can only stand beside the data. A block carries the deleter that knows of the header, and
// one made before the installation carries LibTorch's, so neither meets the wrong one.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t num_bytes) override {
    void* const data = num_bytes == 0 ? nullptr : take(num_bytes);
    return {data, data, &give_back, kCpu};
  }

  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

  void copy_data(void* dest, const void* src, std::size_t count) const override {
    default_copy_data(dest, src, count);
  }

  Counter& counter() { return counter_; }
  void start_reuse() { reuses_ = true; }

 private:
  void* take(std::size_t num_bytes);
  static void give_back(void* data);
  void record(void* data, std::int64_t count);

  Counter counter_;
  BlockCache cache_;
  std::atomic<bool> reuses_ = false;
};

/// Never destroyed: tensors in static variables are freed after everything else.
CountingAllocator& allocator() {
  static auto* const instance = new CountingAllocator;
  return *instance;
}

void* CountingAllocator::take(std::size_t num_bytes) {
  // A sum that wraps around is the smaller one; alloc_cpu and the cache refuse the other.
  const std::size_t with_header = std::max(num_bytes, num_bytes + sizeof(Header));
  BlockCache::Block block;
  if (with_header >= kSmallestReused && reuses_.load(std::memory_order_relaxed)) {
    block = cache_.take(with_header);
  } else {
    block.data = c10::alloc_cpu(with_header);
  }
  void* const data = new (block.data) Header{num_bytes, block.capacity} + 1;
  record(data, static_cast<std::int64_t>(num_bytes));
  return data;
}

void CountingAllocator::give_back(void* data) {
  if (data == nullptr) return;
  Header* const header = static_cast<Header*>(data) - 1;
  allocator().record(data, -static_cast<std::int64_t>(header->num_bytes));
  if (header->cached_capacity > 0) {
    allocator().cache_.give_back({header, header->cached_capacity});
  } else {
    c10::free_cpu(header);
  }
}

void CountingAllocator::record(void* data, std::int64_t count) {
  const auto in_use = static_cast<std::size_t>(counter_.add(count));
  c10::reportMemoryUsageToProfiler(data, count, in_use, /*total_reserved=*/0, kCpu);
}

}  // namespace

void count_cpu_tensors() {
  constexpr std::uint8_t kAboveLibTorchs = 10;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&allocator(), kAboveLibTorchs); });
}

void reuse_cpu_memory() {
  allocator().start_reuse();
  count_cpu_tensors();
}

CpuUsage cpu_usage() { return allocator().counter().usage(); }

void reset_cpu_peak() { allocator().counter().reset_peak(); }

}  // namespace sheaf::memory
