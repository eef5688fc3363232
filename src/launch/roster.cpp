#include "launch/roster.h"

#include <algorithm>

namespace sheaf::launch {

int Roster::world_size() const {
  std::size_t size = 0;
  for (const auto& each : nodes) size += each.slots.size();
  return static_cast<int>(size);
}

const NodeSlots* Roster::find(int node) const {
  const auto found = std::find_if(
      nodes.begin(), nodes.end(), [&](const NodeSlots& each) { return each.node == node; });
  return found == nodes.end() ? nullptr : &*found;
}

int Roster::first_rank(int node) const {
  std::size_t before = 0;
  for (const auto& each : nodes) before += each.node < node ? each.slots.size() : 0;
  return static_cast<int>(before);
}

int Roster::position(int node) const {
  return static_cast<int>(std::count_if(
      nodes.begin(), nodes.end(), [&](const NodeSlots& each) { return each.node < node; }));
}

}  // namespace sheaf::launch
