#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "segment.h"

namespace sheaf::comm::shared {

/// Says where data lies in a way that means the same to every rank.
struct Place {
  /// 0: nowhere the others could reach.
  std::int64_t allocation = 0;
  std::int64_t offset = 0;
};

/// The shared tensors of one group: finds the place of a pointer, and the pointer to a peer's
/// place. Safe to use from several threads, because tensors may be freed anywhere.
class Allocations {
 public:
  explicit Allocations(Ranks ranks, int rank) : ranks_(ranks), rank_(rank) {}

  /// Adds a segment that holds `stride` bytes for each rank; every rank adds the same in the same
  /// order. Returns its number.
  std::int64_t add(std::shared_ptr<Segment> segment, std::size_t stride);
  void remove(std::int64_t allocation);

  [[nodiscard]] Place place_of(const std::byte* data, std::size_t bytes) const;
  [[nodiscard]] std::byte* pointer_to(int rank, const Place& place) const;

 private:
  struct Entry {
    std::int64_t allocation;
    std::shared_ptr<Segment> segment;
    std::size_t stride;
  };

  Ranks ranks_;
  int rank_;
  mutable std::mutex mutex_;
  std::int64_t num_added_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace sheaf::comm::shared
