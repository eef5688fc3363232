#include "sheaf/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sheaf {
namespace {

// Counts the letters to insert, drop, replace or swap with their neighbour to turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

}  // namespace

std::optional<std::string> nearest(std::string_view unknown,
                                   std::span<const std::string> candidates) {
  // Nobody means a name by a text several times as long, and distances of those are slow.
  constexpr std::size_t kLongest = 200;
  if (unknown.size() > kLongest) return std::nullopt;
  // A section in front must not make two names look alike, so only what follows it counts.
  const std::size_t last_size = last_part(unknown).size();
  std::optional<std::string> best;
  std::size_t best_distance = kLongest;
  for (const auto& candidate : candidates) {
    const std::size_t allowed = (std::max(last_size, last_part(candidate).size()) + 1) / 3;
    const std::size_t distance = edit_distance(unknown, candidate);
    if (distance > allowed || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  if (best) return best;
  const auto same_end = std::ranges::find_if(candidates, [&](const std::string& candidate) {
    return last_part(candidate) == last_part(unknown);
  });
  return same_end == candidates.end() ? std::nullopt : std::optional(*same_end);
}

std::string join_or(std::span<const std::string> texts) {
  std::string joined;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined += i + 1 == texts.size() ? " or " : ", ";
    joined += texts[i];
  }
  return joined;
}

}  // namespace sheaf
