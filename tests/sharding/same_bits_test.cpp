// What must not change the arithmetic does not change one bit: within one way of accumulating and
// with a fixed order of sums (any backend with two ranks, shared memory with more).
#include <gtest/gtest.h>

#include <optional>

#include "sharding/strategies.h"
#include "sharding/tower.h"
#include "sharding/training.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

struct Case {
  Task task;
  Way way;
  int num_ranks;
  int accumulation;
  bool exchange_each;
};

class SameBits : public ::testing::TestWithParam<Case> {};

TEST_P(SameBits, WithEveryStageBucketWakerAndPrefetch) {
  const Case& given = GetParam();
  const Course course{
      .steps = 6, .accumulation = given.accumulation, .exchange_each = given.exchange_each};
  on_ranks(given.way, given.num_ranks, [&](const comm::Group& world) {
    std::optional<Outcome> first;
    for (const Strategy& strategy : all_strategies(given.num_ranks)) {
      // Sums in two stages have another order, but those of two have one only.
      if (strategy.replicate > 1 && given.num_ranks > 2) continue;
      const Outcome outcome = train_sharded(given.task, course, over(strategy, world));
      if (first) require_same_bits(outcome, *first, strategy.name);
      if (!first) first = outcome;
    }
  });
}

TEST(SameBits, OverAMeshOfOneCopyAsOverItsGroup) {
  const Course course{.steps = 6, .accumulation = 3};
  for (const Stage stage : {Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3}) {
    on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
      const comm::Mesh mesh(world, {{"replicate", 1}, {"shard", 3}});
      const Outcome expected = train_sharded(gpt_task(), course, {.group = world, .stage = stage});
      const Outcome actual = train_sharded(gpt_task(), course, {.mesh = mesh, .stage = stage});
      require_same_bits(actual, expected, name_of(stage));
    });
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Task& task : all_tasks()) {
    for (const auto& [passes, exchange_each] :
         {std::pair{1, false}, std::pair{3, false}, std::pair{3, true}}) {
      cases.push_back({task, Way::gloo, 2, passes, exchange_each});
      for (int num_ranks = 2; num_ranks <= 4; ++num_ranks) {
        cases.push_back({task, Way::shared_threads, num_ranks, passes, exchange_each});
      }
    }
    cases.push_back({task, Way::shared_processes, 2, 1, false});
    cases.push_back({task, Way::shared_processes, 3, 3, false});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, SameBits, ::testing::ValuesIn(all_cases()), [](const auto& given) {
  const Case& value = given.param;
  return value.task.name + "_" + name(value.way) + "_" + std::to_string(value.num_ranks) +
         "_ranks_" + std::to_string(value.accumulation) +
         (value.exchange_each ? "_exchanged_passes" : "_passes");
});

}  // namespace
}  // namespace sheaf::testing
