#include "data/bpe/pair_table.h"

#include <algorithm>
#include <bit>

namespace sheaf::data::bpe {

PairTable::PairTable(std::span<const Merge> merges) {
  // At most half full, so that a search ends soon.
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(merges.size() * 2, 16));
  slots_.resize(size);
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const std::uint64_t key = key_of(merge.left, merge.right);
    std::size_t at = place_of(key);
    while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask_;
    slots_[at] = {key, {static_cast<std::uint32_t>(rank), merge.result}};
  }
}

}  // namespace sheaf::data::bpe
