#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "meeting.h"

namespace sheaf::comm::shared {

/// The slots through which ranks show each other data that lies in private memory.
///
/// Note [Two slots in turn]: a rank fills its slot, all arrive at a barrier, everybody reads. The
/// next turn uses the other slot, so no second barrier is needed before it is filled: who has
/// arrived at turn t + 1 has finished reading turn t, and slot t is filled again in turn t + 2 at
/// the earliest.
class Stage {
 public:
  explicit Stage(Meeting& meeting) : meeting_(meeting) {}

  [[nodiscard]] std::byte* slot(int rank) const { return meeting_.arena().slot(rank, turn_); }
  [[nodiscard]] std::size_t slot_bytes() const { return meeting_.arena().options().slot_bytes; }
  [[nodiscard]] int rank() const { return meeting_.members().rank; }
  [[nodiscard]] int num_ranks() const { return meeting_.members().size(); }
  void arrive(Kind kind) { meeting_.arrive(kind); }
  void next_turn() { ++turn_; }

 private:
  Meeting& meeting_;
  std::uint32_t turn_ = 0;
};

/// Raw elements of one type.
struct Elements {
  std::byte* data;
  std::int64_t count;
  at::ScalarType dtype;

  [[nodiscard]] std::size_t width() const { return c10::elementSize(dtype); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count) * width(); }
};

/// Copies unless there is nothing to copy or both are the same memory.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

/// A run of elements or bytes.
struct Run {
  std::int64_t begin;
  std::int64_t count;
};

/// Returns part `rank` of `count` elements cut as evenly as whole cache lines allow.
[[nodiscard]] Run share_of(std::int64_t count, std::size_t width, int rank, int num_ranks);

/// Where the bytes of an all-to-all lie, for and from each rank.
struct Routes {
  std::vector<Run> input;
  std::vector<Run> output;
  /// The largest run between any two ranks of the group.
  std::int64_t longest = 0;
};

/// Returns everybody's part of `count` elements, in rank order.
[[nodiscard]] std::vector<Run> shares_of(std::int64_t count, std::size_t width, int num_ranks);
/// Returns equal parts, one per rank.
[[nodiscard]] std::vector<Run> equal_parts(std::int64_t part, int num_ranks);

// The collectives by slots; all ranks call them with matching arguments.
void staged_all_reduce(Stage& stage, const Elements& elements, Reduce reduce);
/// Reduces part `rank` of `input` into `output`. Parts are in elements.
void staged_reduce_scatter(Stage& stage,
                           std::byte* output,
                           const Elements& input,
                           const std::vector<Run>& parts,
                           Reduce reduce);
/// Joins every rank's `input` in `output`. Parts are in bytes.
void staged_all_gather(Stage& stage,
                       std::byte* output,
                       const std::byte* input,
                       const std::vector<Run>& parts);
void staged_broadcast(Stage& stage, std::byte* data, std::size_t bytes, int root);
void staged_all_to_all(Stage& stage,
                       std::byte* output,
                       const std::byte* input,
                       const Routes& routes);

}  // namespace sheaf::comm::shared
