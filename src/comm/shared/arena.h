#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "futex.h"
#include "segment.h"

namespace sheaf::comm::shared {

/// What a rank says about the collective it is in, so that all can check that they agree.
struct CallCard {
  std::uint32_t kind;
  std::uint32_t dtype;
  std::uint32_t reduction;
  std::int32_t root;
  std::int64_t bytes;
  double scale;
  /// Where peers find this rank's data: a place in an allocation (see Allocations), or nowhere.
  std::int64_t allocation;
  std::int64_t offset;
};

struct alignas(128) RankBlock {
  /// The last phase this rank arrived at; tells who is missing.
  FutexWord arrived;
  /// Cards of this and the last call: a slow rank may still read the last one.
  CallCard cards[2];
};

struct Control {
  /// Counts the barriers that everybody has passed; ranks sleep on it.
  alignas(128) FutexWord phase;
  alignas(128) FutexWord num_arrived;
  /// Why the group has ended, 0 while it lives; see Meeting.
  alignas(128) FutexWord end;
};

/// One direction between two ranks: a ring of cells. The counts only grow.
struct Channel {
  alignas(128) FutexWord written;
  alignas(128) FutexWord read;
};

struct ArenaOptions {
  /// Bytes each rank can show to the others at a time; it has two such slots.
  std::size_t slot_bytes = std::size_t{512} << 10;
  /// Bytes of one cell of a channel, and cells per channel.
  std::size_t cell_bytes = std::size_t{64} << 10;
  std::uint32_t num_cells = 4;
};

/// The layout of a group's segment. Pages that nobody touches cost nothing, so channels between
/// ranks that never talk are free.
class Arena {
 public:
  Arena(std::shared_ptr<Segment> segment, int num_ranks, ArenaOptions options);
  [[nodiscard]] static std::size_t bytes(int num_ranks, const ArenaOptions& options);

  [[nodiscard]] Control& control() const;
  [[nodiscard]] RankBlock& rank(int rank) const;
  [[nodiscard]] std::byte* slot(int rank, std::uint32_t turn) const;
  [[nodiscard]] Channel& channel(int from, int to) const;
  [[nodiscard]] std::byte* cell(int from, int to, std::uint32_t index) const;
  [[nodiscard]] const ArenaOptions& options() const { return options_; }
  [[nodiscard]] Segment& segment() const { return *segment_; }

 private:
  std::shared_ptr<Segment> segment_;
  int num_ranks_;
  ArenaOptions options_;
};

}  // namespace sheaf::comm::shared
