#include "launch/membership.h"

#include <algorithm>

namespace sheaf::launch {

void Membership::arrive(int node, const std::string& launcher, int ranks) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second.launcher == launcher && found->second.ranks == ranks) {
    return;
  }
  nodes_[node] = {.launcher = launcher, .ranks = ranks, .left_out = {}};
}

void Membership::leave(int node) { nodes_.erase(node); }

bool Membership::leave_out(int node, int slot) {
  const auto found = nodes_.find(node);
  if (options_.min_ranks == 0 || found == nodes_.end()) return false;
  if (roster(0).world_size() <= options_.min_ranks) return false;
  return found->second.left_out.insert(slot).second;
}

Roster Membership::roster(int generation) const {
  Roster roster{.generation = generation};
  for (const auto& [number, node] : nodes_) {
    NodeSlots slots{.node = number, .launcher = node.launcher};
    for (int slot = 0; slot < node.ranks; ++slot) {
      if (!node.left_out.contains(slot)) slots.slots.push_back(slot);
    }
    if (!slots.slots.empty()) roster.nodes.push_back(std::move(slots));
  }
  return roster;
}

bool Membership::is_complete() const { return static_cast<int>(nodes_.size()) == options_.nodes; }

bool Membership::is_enough() const {
  if (options_.min_ranks == 0) return is_complete();
  return roster(0).world_size() >= options_.min_ranks;
}

std::string Membership::missing() const {
  std::string list;
  for (int node = 0; node < options_.nodes; ++node) {
    if (nodes_.contains(node)) continue;
    list += (list.empty() ? "" : ", ") + std::to_string(node);
  }
  return list;
}

}  // namespace sheaf::launch
