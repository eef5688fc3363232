#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// What two neighbours become, and how soon: smaller ranks first.
struct MergeRule {
  std::uint32_t rank = kNoRank;
  std::uint32_t result = 0;

  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};
};

/// Merges by the two tokens they join. Reads only, after it is made.
class PairTable {
 public:
  /// Of equal pairs the last one counts.
  explicit PairTable(std::span<const Merge> merges);

  /// Returns the rule of a pair; one without a rank if it is never joined.
  [[nodiscard]] MergeRule find(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = place_of(key);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key) return slot.rule;
      if (slot.key == kFree) return {};
    }
  }

 private:
  struct Slot {
    std::uint64_t key = kFree;
    MergeRule rule;
  };
  // No pair: ids stay far below 2^32.
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  [[nodiscard]] static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15) >> shift_);
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace sheaf::data::bpe
