#include "strategies.h"

namespace sheaf::testing {

using sharding::Policy;
using sharding::Wake;

sharding::ShardOptions over(const Strategy& strategy, const comm::Group& world) {
  sharding::ShardOptions options = strategy.options;
  options.ledger = {};
  if (strategy.replicate == 1) {
    options.group = world;
  } else {
    options.mesh.emplace(
        world, std::vector<layout::Axis>{{"replicate", strategy.replicate}, {"shard", -1}});
  }
  return options;
}

std::vector<Strategy> all_strategies(int num_ranks) {
  // Small enough that every model has several buckets.
  const layout::BucketOptions buckets{.cap = {600}, .first_cap = {100}};
  std::vector<Strategy> all;
  for (const auto& [name, stage] : {std::pair{"ddp", Stage::ddp},
                                    std::pair{"zero1", Stage::zero1},
                                    std::pair{"zero2", Stage::zero2}}) {
    all.push_back({name, {.stage = stage, .buckets = buckets}});
    all.push_back({std::string(name) + ":flat", {.stage = stage, .policy = Policy::flat}});
  }
  for (const auto& [name, wake] :
       {std::pair{"touch", Wake::touch}, std::pair{"boundary", Wake::automatic}}) {
    const std::string zero3 = std::string("zero3, ") + name;
    all.push_back({zero3, {.stage = Stage::zero3, .wake = wake}});
    all.push_back({zero3 + ", kept", {.wake = wake, .reshard_after_forward = false}});
    all.push_back({zero3 + ", flat", {.policy = Policy::flat, .wake = wake}});
    all.push_back(
        {zero3 + ", no prefetch, one unit", {.wake = wake, .prefetch = false, .max_gathered = 1}});
    all.push_back({zero3 + ", no overlap", {.wake = wake, .overlap = false}});
    all.push_back({zero3 + ", by size", {.wrap = {.min_parameters = 100}, .wake = wake}});
    if (num_ranks % 2 == 0) {
      all.push_back({"hybrid:" + zero3, {.stage = Stage::zero3, .wake = wake}, 2});
    }
  }
  if (num_ranks % 2 == 0) {
    all.push_back({"hybrid:zero1", {.stage = Stage::zero1, .buckets = buckets}, 2});
    all.push_back({"hybrid:zero2", {.stage = Stage::zero2, .buckets = buckets}, 2});
    all.push_back({"hybrid:ddp", {.stage = Stage::ddp, .buckets = buckets}, 2});
  }
  return all;
}

}  // namespace sheaf::testing
