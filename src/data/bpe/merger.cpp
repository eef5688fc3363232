#include "data/bpe/merger.h"

#include <algorithm>
#include <limits>

#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

// Up to here looking at all pairs each time is faster than a queue.
constexpr std::size_t kShort = 48;

}  // namespace

void Merger::merge(std::vector<std::uint32_t>& tokens) {
  if (tokens.size() < 2) return;
  if (tokens.size() <= kShort) return merge_short(tokens);
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw UsageError("a word of the text has more than 2147483647 bytes");
  }
  merge_long(tokens);
}

void Merger::merge_short(std::vector<std::uint32_t>& tokens) {
  std::size_t size = tokens.size();
  rules_.resize(size);
  for (std::size_t i = 0; i + 1 < size; ++i) rules_[i] = pairs_.find(tokens[i], tokens[i + 1]);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (rules_[i].rank < rules_[best].rank) best = i;
    }
    if (rules_[best].rank == MergeRule::kNoRank) break;
    tokens[best] = rules_[best].result;
    std::copy(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              tokens.begin() + static_cast<std::ptrdiff_t>(size),
              tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --size;
    for (std::size_t i = best + 1; i + 1 < size; ++i) rules_[i] = rules_[i + 1];
    if (best + 1 < size) rules_[best] = pairs_.find(tokens[best], tokens[best + 1]);
    if (best > 0) rules_[best - 1] = pairs_.find(tokens[best - 1], tokens[best]);
  }
  tokens.resize(size);
}

void Merger::propose(std::int32_t at) {
  if (at < 0 || links_[at].after < 0) return;
  const Link& left = links_[at];
  const std::uint32_t right = links_[left.after].token;
  const MergeRule rule = pairs_.find(left.token, right);
  if (rule.rank == MergeRule::kNoRank) return;
  queue_.push({rule.rank, static_cast<std::uint32_t>(at), left.token, right, rule.result});
}

void Merger::join(const Candidate& candidate) {
  Link& left = links_[candidate.at];
  // One of the two may have become another in the meantime.
  if (left.gone || left.token != candidate.left || left.after < 0) return;
  Link& right = links_[left.after];
  if (right.token != candidate.right) return;
  left.token = candidate.result;
  left.after = right.after;
  right.gone = true;
  const auto at = static_cast<std::int32_t>(candidate.at);
  if (left.after >= 0) links_[left.after].before = at;
  propose(left.before);
  propose(at);
}

void Merger::merge_long(std::vector<std::uint32_t>& tokens) {
  const auto size = static_cast<std::int32_t>(tokens.size());
  links_.resize(tokens.size());
  for (std::int32_t i = 0; i < size; ++i) {
    links_[i] = {tokens[i], i - 1, i + 1 < size ? i + 1 : -1, false};
  }
  for (std::int32_t i = 0; i + 1 < size; ++i) propose(i);
  while (!queue_.empty()) {
    const Candidate next = queue_.top();
    queue_.pop();
    join(next);
  }
  tokens.clear();
  for (std::int32_t i = 0; i >= 0; i = links_[i].after) tokens.push_back(links_[i].token);
}

}  // namespace sheaf::data::bpe
