#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// A word as tokens, and how often it was seen.
struct CountedWord {
  std::vector<std::uint32_t> tokens;
  std::int64_t count = 0;
};

struct LearnerOptions {
  /// Tokens in all.
  std::size_t size = 0;
  std::int64_t min_count = 2;
};

/// Learns merges: joins the most frequent pair of neighbours, again and again. Of equally frequent
/// ones, the pair with the smaller numbers.
class MergeLearner {
 public:
  /// `names` are the tokens that there are already, as files write them.
  /// Wherever `should_stop` returns true, here and in learn(), Error is thrown; it may be empty.
  MergeLearner(std::vector<CountedWord> words,
               std::vector<std::string> names,
               std::function<bool()> should_stop = {});

  /// Learns until there are as many tokens as wanted, or no pair is frequent enough.
  void learn(const LearnerOptions& options);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Merge>& merges() const { return merges_; }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      return (std::uint64_t{pair.first} << 32 | pair.second) * 0x9e3779b97f4a7c15;
    }
  };
  /// A pair, how often it was seen when this was put in the queue, and where it may be.
  struct Candidate {
    Pair pair;
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;

    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };
  /// The words in which pairs have become more frequent.
  using Grown = std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash>;

  void throw_if_stopped() const;
  void count_pairs();
  void push(Candidate candidate);
  [[nodiscard]] Candidate pop();
  [[nodiscard]] Merge merge_for(const Pair& pair);
  void join(std::uint32_t word, const Merge& merge, Grown& grown);
  void change(const Pair& pair, std::int64_t by, std::uint32_t word, Grown& grown);

  std::vector<CountedWord> words_;
  std::vector<std::string> names_;
  std::function<bool()> should_stop_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::vector<Candidate> queue_;
  std::vector<Merge> merges_;
  std::unordered_set<Pair, PairHash> merged_;
};

}  // namespace sheaf::data::bpe
