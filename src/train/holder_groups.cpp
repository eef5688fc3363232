#include "holder_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace sheaf::train {
namespace {

using memory::Purpose;

/// Reads the number that a block's name ends with: 3 of "transformer.h.3".
std::optional<int> block_number(const std::string& owner) {
  const std::size_t dot = owner.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  int number = 0;
  const char* const end = owner.data() + owner.size();
  const auto [stop, problem] = std::from_chars(owner.data() + dot + 1, end, number);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return number;
}

using Blocks = std::map<int, std::int64_t>;

std::string name_of(const Blocks& blocks) {
  std::int64_t most = 0;
  for (const auto& [block, bytes] : blocks) most = std::max(most, bytes);
  std::optional<int> first;
  int last = 0;
  for (const auto& [block, bytes] : blocks) {
    if (2 * bytes < most) continue;
    if (!first) first = block;
    last = block;
  }
  if (*first == last) return fmt::format("activations of block {}", last);
  return fmt::format("activations of blocks {}-{}", *first, last);
}

}  // namespace

std::vector<HolderGroup> grouped_holders(const std::vector<memory::Holder>& holders) {
  memory::ByPurpose others;
  Blocks blocks;
  std::int64_t in_blocks = 0;
  for (const memory::Holder& holder : holders) {
    const auto block =
        holder.purpose == Purpose::activations ? block_number(holder.owner) : std::nullopt;
    if (block) {
      blocks[*block] += holder.bytes.count;
      in_blocks += holder.bytes.count;
    } else {
      others[holder.purpose].count += holder.bytes.count;
    }
  }
  std::vector<HolderGroup> groups;
  if (!blocks.empty()) groups.push_back({name_of(blocks), {in_blocks}});
  for (const Purpose purpose : memory::all_purposes()) {
    if (others[purpose].count == 0) continue;
    const bool outside = purpose == Purpose::activations && !blocks.empty();
    groups.push_back({outside ? "activations of embeddings and loss" : std::string(name(purpose)),
                      others[purpose]});
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &HolderGroup::bytes);
  return groups;
}

}  // namespace sheaf::train
