// Exchanges run beside computation: told by the order of what happens, not by the clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sharding/tower.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using sharding::Wake;

constexpr layout::BucketOptions kSmallBuckets{.cap = {1024}, .first_cap = {64}};
constexpr int kBlocks = 5;

std::string block(int i) { return "blocks." + std::to_string(i); }

/// What happens on a rank in step `number`, the first being 1.
Moments moments_of_step(int number, const ShardOptions& options) {
  Session session({.blocks = kBlocks}, options);
  session.steps(number - 1);
  static_cast<void>(session.take_moments());
  session.step();
  return session.take_moments();
}

/// Calls `check` with what happens in steps one to three, on every rank.
void check_steps(const ShardOptions& given,
                 const std::function<void(int step, const Moments& moments)>& check) {
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
    ShardOptions options = given;  // ranks are threads: each needs its own
    options.group = world;
    for (int step = 1; step <= 3; ++step) check(step, moments_of_step(step, options));
  });
}

class FirstReduction : public ::testing::TestWithParam<Stage> {};

TEST_P(FirstReduction, StartsWhileBackwardGoesOn) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const Moments moments =
        moments_of_step(3, {.group = world, .stage = GetParam(), .buckets = kSmallBuckets});
    const auto first = std::find_if(moments.begin(), moments.end(), [](const std::string& moment) {
      return moment.starts_with("reduce started");
    });
    ASSERT_NE(first, moments.end());
    EXPECT_TRUE(before(moments, *first, "backward came to blocks.2"));
    EXPECT_TRUE(before(moments, *first, "backward came to blocks.0"));
    EXPECT_TRUE(before(moments, *first, "pass ended"));
  });
}

TEST_P(FirstReduction, IsNotWaitedForBeforeTheNextStarts) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const Moments moments =
        moments_of_step(3, {.group = world, .stage = GetParam(), .buckets = kSmallBuckets});
    std::vector<std::string> started;
    for (const std::string& moment : moments) {
      if (moment.starts_with("reduce started")) started.push_back(moment);
    }
    ASSERT_GE(started.size(), 3);
    const std::string first_unit = started[0].substr(std::string("reduce started ").size());
    EXPECT_TRUE(before(moments, started[1], "reduced " + first_unit));
  });
}

INSTANTIATE_TEST_SUITE_P(Stages,
                         FirstReduction,
                         ::testing::Values(Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3),
                         [](const auto& given) { return name_of(given.param); });

TEST(Reduction, OfEachUnitStartsBeforeBackwardComesToTheNext) {
  check_steps({.wake = Wake::boundary}, [](int step, const Moments& moments) {
    for (int i = kBlocks - 1; i > 0; --i) {
      EXPECT_TRUE(before(moments, "reduce started " + block(i), "backward came to " + block(i - 1)))
          << "step " << step;
    }
  });
}

TEST(Gather, OfTheNextUnitStartsWhileOneRunsForwardFromTheSecondStepOn) {
  check_steps({.wake = Wake::boundary}, [](int step, const Moments& moments) {
    for (int i = 0; i + 1 < kBlocks; ++i) {
      EXPECT_EQ(static_cast<bool>(
                    before(moments, "gather started " + block(i + 1), "forward ended " + block(i))),
                step > 1)
          << "step " << step << ", unit " << i;
    }
  });
}

TEST(Gather, OfTheNextUnitStartsWhileOneRunsBackwardFromTheSecondStepOn) {
  check_steps({.wake = Wake::boundary}, [](int step, const Moments& moments) {
    const auto turn = std::find(moments.begin(), moments.end(), "backward began (root)");
    const Moments backward(turn, moments.end());
    for (int i = kBlocks - 1; i > 0; --i) {
      EXPECT_EQ(static_cast<bool>(before(
                    backward, "gather started " + block(i - 1), "reduce started " + block(i))),
                step > 1)
          << "step " << step << ", unit " << i;
    }
  });
}

TEST(Gather, ByTouchStartsTheNextUnitBeforeBackwardComesToIt) {
  check_steps({.wake = Wake::touch}, [](int step, const Moments& moments) {
    const auto turn =
        std::find(moments.begin(), moments.end(), "backward came to " + block(kBlocks - 1));
    const Moments backward(turn, moments.end());
    // The last two units have stayed from forward.
    for (int i = kBlocks - 3; i >= 0; --i) {
      EXPECT_EQ(static_cast<bool>(
                    before(backward, "gather started " + block(i), "backward came to " + block(i))),
                step > 1)
          << "step " << step << ", unit " << i;
    }
  });
}

TEST(Gather, WaitsForItsUnitsTurnWithPrefetchOff) {
  check_steps({.wake = Wake::boundary, .prefetch = false}, [](int, const Moments& moments) {
    const auto turn = std::find(moments.begin(), moments.end(), "backward began (root)");
    const Moments backward(turn, moments.end());
    for (int i = 0; i + 1 < kBlocks; ++i) {
      EXPECT_TRUE(before(moments, "forward ended " + block(i), "gather started " + block(i + 1)));
      EXPECT_TRUE(before(backward, "reduce started " + block(i + 1), "gather started " + block(i)));
    }
  });
}

/// Trains seven steps, of which some run the blocks in another order; returns the parameters.
sharding::NamedTensors train_in_orders(const ShardOptions& options,
                                       const std::set<int>& other_steps,
                                       Moments* last_step = nullptr) {
  Session session({.blocks = kBlocks}, options);
  const auto usual = session.model().order;
  for (int step = 1; step <= 7; ++step) {
    session.model().order = usual;
    if (other_steps.contains(step)) session.model().order = {0, 3, 2, 4, 1};
    static_cast<void>(session.take_moments());
    session.step();
  }
  if (last_step != nullptr) *last_step = session.take_moments();
  return session.state().gather_full();
}

TEST(ChangedOrder, GivesTheSameNumbers) {
  for (const std::set<int>& steps : {std::set{3}, std::set{3, 4, 5, 6, 7}, std::set{2, 4, 6}}) {
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
      const auto expected = train_in_orders({.group = world, .stage = Stage::ddp}, steps);
      for (const Wake wake : {Wake::touch, Wake::boundary}) {
        for (const auto& [name, value] : train_in_orders({.group = world, .wake = wake}, steps)) {
          require_equal(value, expected.at(name), name);
        }
      }
    });
  }
}

TEST(ChangedOrder, IsLearnedAgain) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    Moments last;
    static_cast<void>(
        train_in_orders({.group = world, .wake = Wake::boundary}, {3, 4, 5, 6, 7}, &last));
    EXPECT_TRUE(before(last, "gather started blocks.3", "forward ended blocks.0"));
    EXPECT_TRUE(before(last, "gather started blocks.2", "forward ended blocks.3"));
    EXPECT_TRUE(before(last, "gather started blocks.4", "forward ended blocks.2"));
    EXPECT_TRUE(before(last, "gather started blocks.1", "forward ended blocks.4"));
  });
}

TEST(ChangedOrder, KeepsTheLimitOnGatheredUnits) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    for (const Wake wake : {Wake::touch, Wake::boundary}) {
      Session session({.blocks = kBlocks}, {.group = world, .wake = wake});
      session.steps(2);
      std::reverse(session.model().order.begin(), session.model().order.end());
      session.steps(2);
      EXPECT_LE(session.state().ledger().peak(memory::Purpose::gathered).count,
                4 * (2 * session.num_elements("blocks.0") + session.num_elements("(root)")));
    }
  });
}

}  // namespace
}  // namespace sheaf::testing
