// Every strategy takes the steps that one rank would take on the whole batch.
#include <gtest/gtest.h>

#include "sharding/strategies.h"
#include "sharding/training.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

// In fp64, so that only rounding is left: sums in another order differ by some 1e-16, and twenty
// steps of Adam, which divides by roots of squares, may amplify that. In fp32 a parameter whose
// true gradient is zero (the key bias of attention) would follow the rounding itself.
constexpr double kTolerance = 1e-9;

struct Case {
  Task task;
  int num_ranks;
  int accumulation;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.task.name << " on " << value.num_ranks << " ranks";
}

class SameNumbers : public ::testing::TestWithParam<Case> {};

TEST_P(SameNumbers, AsOneRankWithEveryStrategy) {
  const Case& given = GetParam();
  const Course course{.accumulation = given.accumulation, .dtype = at::kDouble};
  const Outcome expected = train_alone(given.task, course);
  for (const Strategy& strategy : all_strategies(given.num_ranks)) {
    on_ranks(Way::shared_threads, given.num_ranks, [&](const comm::Group& world) {
      const Outcome actual = train_sharded(given.task, course, over(strategy, world));
      require_close(actual, expected, kTolerance, strategy.name);
    });
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Task& task : all_tasks()) {
    for (int num_ranks = 1; num_ranks <= 4; ++num_ranks) {
      // Batch normalisation over a part of a batch is another thing than over all of it.
      for (const int accumulation : {1, 3}) cases.push_back({task, num_ranks, accumulation});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, SameNumbers, ::testing::ValuesIn(all_cases()), [](const auto& given) {
  return given.param.task.name + "_" + std::to_string(given.param.num_ranks) + "_ranks_" +
         std::to_string(given.param.accumulation) + "_passes";
});

TEST(SameNumbers, WithReducedPassesInsteadOfLocalSums) {
  const Course course{.accumulation = 3, .exchange_each = true, .dtype = at::kDouble};
  const Outcome expected = train_alone(gpt_task(), course);
  for (const Strategy& strategy : all_strategies(2)) {
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
      const Outcome actual = train_sharded(gpt_task(), course, over(strategy, world));
      require_close(actual, expected, kTolerance, strategy.name);
    });
  }
}

TEST(SameNumbers, WhenGradientsAreClipped) {
  const Course course{.dtype = at::kDouble, .clip = true};
  const Outcome expected = train_alone(gpt_task(), course);
  for (const Strategy& strategy : all_strategies(4)) {
    on_ranks(Way::shared_threads, 4, [&](const comm::Group& world) {
      const Outcome actual = train_sharded(gpt_task(), course, over(strategy, world));
      require_close(actual, expected, kTolerance, strategy.name);
    });
  }
}

}  // namespace
}  // namespace sheaf::testing
