#pragma once

#include <map>
#include <set>
#include <string>

#include "launch/roster.h"

namespace sheaf::launch {

struct MembershipOptions {
  int nodes = 1;
  /// Ranks that a generation needs; 0: all that every node has.
  int min_ranks = 0;
};

/// Which nodes and slots are there for the next generation. Pure bookkeeping.
class Membership {
 public:
  explicit Membership(MembershipOptions options) : options_(options) {}

  /// The node is there with that many ranks. Where that is news, slots that were left out get
  /// another chance.
  void arrive(int node, const std::string& launcher, int ranks);
  void leave(int node);
  /// Leaves a slot out from now on, where enough others are there. Returns whether it did.
  bool leave_out(int node, int slot);

  /// Returns who would take part in that generation.
  [[nodiscard]] Roster roster(int generation) const;
  [[nodiscard]] bool is_complete() const;
  /// Whether a generation can begin with those that are there.
  [[nodiscard]] bool is_enough() const;
  /// Returns the numbers of the nodes that are not there, as "1, 3".
  [[nodiscard]] std::string missing() const;

 private:
  struct Node {
    std::string launcher;
    int ranks = 0;
    std::set<int> left_out;
  };

  MembershipOptions options_;
  std::map<int, Node> nodes_;
};

}  // namespace sheaf::launch
