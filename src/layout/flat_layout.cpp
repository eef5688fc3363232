#include "sheaf/layout/flat_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

void check(const FlatLayoutOptions& options) {
  if (options.num_shards < 1) {
    throw UsageError(
        fmt::format("a flat buffer is cut into at least 1 shard, got {}", options.num_shards));
  }
  if (options.alignment < 1) {
    throw UsageError(
        fmt::format("the alignment of a flat buffer is at least 1, got {}", options.alignment));
  }
}

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

}  // namespace

Range intersect(const Range& a, const Range& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  const std::int64_t end = std::min(a.end(), b.end());
  return begin < end ? Range{begin, end - begin} : Range{};
}

FlatLayout::FlatLayout(std::span<const std::int64_t> numels, const FlatLayoutOptions& options)
    : options_(options) {
  check(options);
  params_.reserve(numels.size());
  for (const std::int64_t numel : numels) {
    if (numel < 0) {
      throw UsageError(fmt::format(
          "parameter {} cannot have a negative number of elements: {}", params_.size(), numel));
    }
    params_.push_back({round_up(size_, options.alignment), numel});
    size_ = params_.back().end();
  }
  size_ = round_up(size_, options.num_shards * options.alignment);
}

Range FlatLayout::shard(int rank) const {
  if (rank < 0 || rank >= options_.num_shards) {
    throw UsageError(fmt::format(
        "the flat buffer is cut over {} ranks, there is no rank {}", options_.num_shards, rank));
  }
  return {rank * shard_size(), shard_size()};
}

Range FlatLayout::in_buffer(std::size_t index, int rank) const {
  if (index >= params_.size()) {
    throw UsageError(fmt::format(
        "the flat buffer has {} parameters, there is no index {}", params_.size(), index));
  }
  return intersect(params_[index], shard(rank));
}

Range FlatLayout::local_part(std::size_t index, int rank) const {
  const Range held = in_buffer(index, rank);
  return held.size == 0 ? Range{} : Range{held.begin - params_[index].begin, held.size};
}

std::int64_t FlatLayout::offset_in_shard(std::size_t index, int rank) const {
  const Range held = in_buffer(index, rank);
  return held.size == 0 ? 0 : held.begin - shard(rank).begin;
}

}  // namespace sheaf::layout
