#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sheaf/sharding/shard.h"

namespace sheaf::testing {

/// A way to cut a model, and how it is called in test output.
struct Strategy {
  std::string name;
  sharding::ShardOptions options;
  /// Ranks along the axis "replicate"; 1: no mesh.
  int replicate = 1;
};

/// The options over the ranks of a group.
[[nodiscard]] sharding::ShardOptions over(const Strategy& strategy, const comm::Group& world);

/// Every stage with every policy it has, small buckets, and hybrid meshes where the ranks allow.
[[nodiscard]] std::vector<Strategy> all_strategies(int num_ranks);

}  // namespace sheaf::testing
