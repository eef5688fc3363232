#include "data/bpe/merge_learner.h"

#include <algorithm>

#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

// Words whose pairs are counted in well below a second.
constexpr std::uint32_t kWordsBetweenLooks = 1 << 12;

}  // namespace

MergeLearner::MergeLearner(std::vector<CountedWord> words,
                           std::vector<std::string> names,
                           std::function<bool()> should_stop)
    : words_(std::move(words)), names_(std::move(names)), should_stop_(std::move(should_stop)) {
  for (std::uint32_t id = 0; id < names_.size(); ++id) by_name_.emplace(names_[id], id);
  count_pairs();
}

void MergeLearner::throw_if_stopped() const {
  if (should_stop_ && should_stop_()) throw Error("interrupted while the tokenizer was made");
}

void MergeLearner::count_pairs() {
  Grown seen;
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (i % kWordsBetweenLooks == 0) throw_if_stopped();
    const auto& tokens = words_[i].tokens;
    for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
      change({tokens[at], tokens[at + 1]}, words_[i].count, i, seen);
    }
  }
  for (auto& [pair, places] : seen) push({pair, counts_[pair], std::move(places)});
}

void MergeLearner::push(Candidate candidate) {
  if (candidate.count <= 0) return;
  queue_.push_back(std::move(candidate));
  std::push_heap(queue_.begin(), queue_.end());
}

MergeLearner::Candidate MergeLearner::pop() {
  std::pop_heap(queue_.begin(), queue_.end());
  Candidate top = std::move(queue_.back());
  queue_.pop_back();
  return top;
}

void MergeLearner::change(const Pair& pair, std::int64_t by, std::uint32_t word, Grown& grown) {
  counts_[pair] += by;
  if (by <= 0) return;
  auto& places = grown[pair];
  if (places.empty() || places.back() != word) places.push_back(word);
}

Merge MergeLearner::merge_for(const Pair& pair) {
  const std::string name = names_[pair.first] + names_[pair.second];
  // Another pair may have made the same token.
  const auto [known, added] = by_name_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  const Merge merge{pair.first, pair.second, known->second};
  // A pair can come up again with other words; it is one merge all the same.
  if (merged_.insert(pair).second) merges_.push_back(merge);
  return merge;
}

void MergeLearner::join(std::uint32_t word, const Merge& merge, Grown& grown) {
  auto& [tokens, count] = words_[word];
  std::size_t kept = 0;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const bool joins =
        at + 1 < tokens.size() && tokens[at] == merge.left && tokens[at + 1] == merge.right;
    if (!joins) {
      tokens[kept++] = tokens[at];
      continue;
    }
    if (kept > 0) {
      change({tokens[kept - 1], merge.left}, -count, word, grown);
      change({tokens[kept - 1], merge.result}, count, word, grown);
    }
    if (at + 2 < tokens.size()) {
      change({merge.right, tokens[at + 2]}, -count, word, grown);
      change({merge.result, tokens[at + 2]}, count, word, grown);
    }
    tokens[kept++] = merge.result;
    ++at;
  }
  tokens.resize(kept);
}

void MergeLearner::learn(const LearnerOptions& options) {
  while (names_.size() < options.size && !queue_.empty()) {
    throw_if_stopped();
    Candidate top = pop();
    // Merges that came after it was put in may have taken some of it.
    if (const std::int64_t now = counts_[top.pair]; now != top.count) {
      top.count = now;
      push(std::move(top));
      continue;
    }
    if (top.count < options.min_count) break;
    const Merge merge = merge_for(top.pair);
    Grown grown;
    for (const std::uint32_t word : top.words) join(word, merge, grown);
    for (auto& [pair, places] : grown) push({pair, counts_[pair], std::move(places)});
  }
}

}  // namespace sheaf::data::bpe
