#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::layout {

/// A run of elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  [[nodiscard]] std::int64_t end() const { return begin + size; }
  bool operator==(const Range&) const = default;
};

/// Returns what both have in common; an empty range at 0 if nothing.
[[nodiscard]] Range intersect(const Range& a, const Range& b);

/// Where parameters begin in the buffers of units: vector instructions like it, and matrix products
/// on GPUs need it.
inline constexpr std::int64_t kParameterAlignment = 16;

struct FlatLayoutOptions {
  /// Ranks the buffer is cut over.
  int num_shards = 1;
  /// Every parameter begins at a multiple of this many elements, and so does every shard.
  std::int64_t alignment = 1;
};

/// Packs parameters end to end in one buffer and cuts it into equal shards. Pure arithmetic: owns
/// no memory, talks to no other rank.
///
/// Invariant: size() == shard_size() * num_shards; what no parameter covers is padding.
class FlatLayout {
 public:
  /// Throws UsageError if a count is negative or an option is below one.
  FlatLayout(std::span<const std::int64_t> numels, const FlatLayoutOptions& options);

  /// Returns where each parameter lies in the buffer.
  [[nodiscard]] std::span<const Range> params() const { return params_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t shard_size() const { return size_ / options_.num_shards; }
  [[nodiscard]] int num_shards() const { return options_.num_shards; }
  /// Returns the part of the buffer that `rank` holds. This and what follows throw UsageError for a
  /// rank or an index that is not there.
  [[nodiscard]] Range shard(int rank) const;
  /// Returns which elements of parameter `index` (counted from its own begin) `rank` holds; an
  /// empty range at 0 if none.
  [[nodiscard]] Range local_part(std::size_t index, int rank) const;
  /// Returns where that part begins in the rank's shard; 0 if the part is empty.
  [[nodiscard]] std::int64_t offset_in_shard(std::size_t index, int rank) const;

 private:
  /// Returns where in the buffer the part of parameter `index` lies that `rank` holds.
  [[nodiscard]] Range in_buffer(std::size_t index, int rank) const;

  FlatLayoutOptions options_;
  std::vector<Range> params_;
  std::int64_t size_ = 0;
};

}  // namespace sheaf::layout
