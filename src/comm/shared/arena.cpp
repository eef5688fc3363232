#include "arena.h"

namespace sheaf::comm::shared {
namespace {

std::size_t slots_begin(int num_ranks) {
  const std::size_t end = sizeof(Control) + sizeof(RankBlock) * static_cast<std::size_t>(num_ranks);
  return (end + 4095) / 4096 * 4096;
}

std::size_t channels_begin(int num_ranks, const ArenaOptions& options) {
  return slots_begin(num_ranks) + 2 * options.slot_bytes * static_cast<std::size_t>(num_ranks);
}

std::size_t channel_bytes(const ArenaOptions& options) {
  return sizeof(Channel) + options.cell_bytes * options.num_cells;
}

}  // namespace

Arena::Arena(std::shared_ptr<Segment> segment, int num_ranks, ArenaOptions options)
    : segment_(std::move(segment)), num_ranks_(num_ranks), options_(options) {}

std::size_t Arena::bytes(int num_ranks, const ArenaOptions& options) {
  const auto n = static_cast<std::size_t>(num_ranks);
  return channels_begin(num_ranks, options) + n * n * channel_bytes(options);
}

Control& Arena::control() const { return *reinterpret_cast<Control*>(segment_->data()); }

RankBlock& Arena::rank(int rank) const {
  return reinterpret_cast<RankBlock*>(segment_->data() + sizeof(Control))[rank];
}

std::byte* Arena::slot(int rank, std::uint32_t turn) const {
  const std::size_t index = static_cast<std::size_t>(rank) * 2 + turn % 2;
  return segment_->data() + slots_begin(num_ranks_) + index * options_.slot_bytes;
}

Channel& Arena::channel(int from, int to) const {
  const auto index = static_cast<std::size_t>(from * num_ranks_ + to);
  return *reinterpret_cast<Channel*>(segment_->data() + channels_begin(num_ranks_, options_) +
                                     index * channel_bytes(options_));
}

std::byte* Arena::cell(int from, int to, std::uint32_t index) const {
  return reinterpret_cast<std::byte*>(&channel(from, to) + 1) +
         (index % options_.num_cells) * options_.cell_bytes;
}

}  // namespace sheaf::comm::shared
