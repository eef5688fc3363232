#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "data/bpe/pair_table.h"

namespace sheaf::data::bpe {

/// Joins the tokens of one word as long as a rule applies: always the pair of the smallest rank,
/// the leftmost of equal ones. Keeps its memory from word to word; for one thread.
class Merger {
 public:
  explicit Merger(const PairTable& pairs) : pairs_(pairs) {}

  /// Replaces `tokens` by what they become. Takes n log n steps for n tokens.
  void merge(std::vector<std::uint32_t>& tokens);

 private:
  /// A pair that may be joined when its turn comes.
  struct Candidate {
    std::uint32_t rank = 0;
    std::uint32_t at = 0;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t result = 0;

    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  /// One token of a long word and its neighbours, -1 at the ends.
  struct Link {
    std::uint32_t token = 0;
    std::int32_t before = -1;
    std::int32_t after = -1;
    bool gone = false;
  };

  void merge_short(std::vector<std::uint32_t>& tokens);
  void merge_long(std::vector<std::uint32_t>& tokens);
  void propose(std::int32_t at);
  void join(const Candidate& candidate);

  const PairTable& pairs_;
  std::vector<MergeRule> rules_;
  std::vector<Link> links_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

}  // namespace sheaf::data::bpe
