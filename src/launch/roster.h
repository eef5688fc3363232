#pragma once

#include <string>
#include <vector>

namespace sheaf::launch {

/// The ranks of one node: which of its slots (local ranks, and so devices) have one.
struct NodeSlots {
  int node = 0;
  /// Tells the launcher there from an earlier one, such as "host, pid 4242".
  std::string launcher{};
  std::vector<int> slots{};

  bool operator==(const NodeSlots&) const = default;
};

/// Who takes part in one generation of a job: the ranks that start together and end together.
struct Roster {
  int generation = -1;
  /// In the order of their numbers, without those that have no rank.
  std::vector<NodeSlots> nodes{};

  [[nodiscard]] int world_size() const;
  /// Null where the node has no part.
  [[nodiscard]] const NodeSlots* find(int node) const;
  /// Ranks on the nodes before this one.
  [[nodiscard]] int first_rank(int node) const;
  /// How many nodes with ranks come before this one.
  [[nodiscard]] int position(int node) const;
};

}  // namespace sheaf::launch
