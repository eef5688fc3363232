#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sheaf::memory {

/// Large blocks of memory, of which those that were given back are kept for the next use.
///
/// Invariant: blocks in use and blocks kept together never take more than blocks in use took at
/// their peak.
class BlockCache {
 public:
  struct Block {
    void* data = nullptr;
    std::size_t capacity = 0;
  };

  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// Returns a block of at least `num_bytes`, at a multiple of the page size: one that was kept and
  /// is little larger, or a new one. Throws std::bad_alloc.
  [[nodiscard]] Block take(std::size_t num_bytes);
  void give_back(Block block);

  /// Returns how many bytes were taken from the system, in use or kept.
  [[nodiscard]] std::size_t reserved() const;
  /// Returns how many bytes are kept for later.
  [[nodiscard]] std::size_t kept() const;

 private:
  struct Kept {
    void* data = nullptr;
    /// When it was given back.
    std::uint64_t since = 0;
  };

  void release_beyond(std::size_t limit);

  mutable std::mutex mutex_;
  /// By capacity.
  std::multimap<std::size_t, Kept> free_;
  std::uint64_t clock_ = 0;
  std::size_t kept_ = 0;
  std::size_t in_use_ = 0;
  std::size_t peak_in_use_ = 0;
};

}  // namespace sheaf::memory
