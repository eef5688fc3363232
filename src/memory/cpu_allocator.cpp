#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "accounts.h"
#include "block_cache.h"
#include "sheaf/memory/cpu_reuse.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/limit.h"

namespace sheaf::memory {
namespace {

/// Stands in front of every block, as wide as the alignment that tensors are promised.
struct alignas(c10::gAlignment) Header {
  std::size_t num_bytes = 0;
  /// Bytes of the whole block if it came from the cache, else 0.
  std::size_t cached_capacity = 0;
  /// Whose bytes they are.
  Accounts::Number account = 0;
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

  void start_reuse() { reuses_ = true; }
  [[nodiscard]] const BlockCache& cache() const { return cache_; }

 private:
  void* take(std::size_t num_bytes);
  BlockCache::Block block_of(std::size_t num_bytes);
  static void give_back(void* data);

  BlockCache cache_;
  std::atomic<bool> reuses_ = false;
};

/// Tells profilers, too.
void report(void* data, std::int64_t count, std::int64_t in_use) {
  c10::reportMemoryUsageToProfiler(
      data, count, static_cast<std::size_t>(in_use), /*total_reserved=*/0, kCpu);
}

/// Never destroyed: tensors in static variables are freed after everything else.
CountingAllocator& allocator() {
  static auto* const instance = new CountingAllocator;
  return *instance;
}

/// Names those who hold memory when the system has no more.
[[noreturn]] void refuse(std::int64_t wanted) {
  throw OutOfMemory({.wanted = {wanted},
                     .in_use = accounts().usage().current,
                     .limit = {},
                     .holders = accounts().holders()});
}

BlockCache::Block CountingAllocator::block_of(std::size_t num_bytes) {
  if (num_bytes >= kSmallestReused && reuses_.load(std::memory_order_relaxed)) {
    return cache_.take(num_bytes);
  }
  BlockCache::Block block;
  block.data = c10::alloc_cpu(num_bytes);
  return block;
}

void* CountingAllocator::take(std::size_t num_bytes) {
  const auto count = static_cast<std::int64_t>(num_bytes);
  accounts().require_room(count);
  // A sum that wraps around is the smaller one; alloc_cpu and the cache refuse the other.
  const std::size_t with_header = std::max(num_bytes, num_bytes + sizeof(Header));
  BlockCache::Block block;
  try {
    block = block_of(with_header);
  } catch (const std::bad_alloc&) {
    refuse(count);
  } catch (const c10::Error&) {
    // A negative size is no question of memory.
    if (count < 0) throw;
    refuse(count);
  }
  const Accounts::Number account = current_account();
  void* const data = new (block.data) Header{num_bytes, block.capacity, account} + 1;
  report(data, count, accounts().add(account, count));
  return data;
}

void CountingAllocator::give_back(void* data) {
  if (data == nullptr) return;
  Header* const header = static_cast<Header*>(data) - 1;
  const auto count = static_cast<std::int64_t>(header->num_bytes);
  report(data, -count, accounts().remove(header->account, count));
  if (header->cached_capacity > 0) {
    allocator().cache_.give_back({header, header->cached_capacity});
  } else {
    c10::free_cpu(header);
  }
}

bool is_installed() { return c10::GetCPUAllocator() == &allocator(); }

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

CpuUsage cpu_usage() {
  CpuUsage usage = accounts().usage();
  usage.reserved.count = static_cast<std::int64_t>(allocator().cache().reserved());
  return usage;
}

void reset_cpu_peak() { accounts().reset_peak(); }

at::Tensor count_shared(const at::Tensor& tensor) {
  const bool is_counted = tensor.storage().data_ptr().get_deleter() == allocator().raw_deleter();
  if (!is_installed() || is_counted) return tensor;
  const auto count = static_cast<std::int64_t>(tensor.nbytes());
  const Accounts::Number account = current_account();
  accounts().require_room(count);
  accounts().add(account, count);
  const auto forget = [tensor, account, count](void*) { accounts().remove(account, count); };
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), forget, tensor.options());
}

}  // namespace sheaf::memory
