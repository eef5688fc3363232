// Parameters without a gradient: an error, or left alone by the step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "sharding/trial_models.h"
#include "sheaf/base/error.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A model with a layer that is used on demand.
struct WithSpare final : TinyModel {
  WithSpare()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        spare(register_module("spare", Layer(kFeatures, kFeatures))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = sheaf::forward(*first, inputs);
    if (uses_spare) x = x + sheaf::forward(*spare, x);
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, spare, head;
  bool uses_spare = true;
};

void pass_with(TinyModel& model, const Batch& batch, bool spare) {
  dynamic_cast<WithSpare&>(model).uses_spare = spare;
  one_pass(model, batch);
}

Trial with_spare(const std::function<bool(int)>& used_in) {
  Trial trial = trial_of<WithSpare>();
  // The first number of a sample tells whether its pass uses the layer.
  trial.batch = [used_in](std::int64_t step) {
    Batch batch = random_batch(step);
    batch.inputs.select(1, 0).fill_(used_in(static_cast<int>(step)) ? 1.0 : -1.0);
    return batch;
  };
  trial.pass = [](TinyModel& model, const Batch& batch) {
    pass_with(model, batch, batch.inputs.flatten()[0].item<double>() > 0);
  };
  return trial;
}

TEST(Unused, AreAnErrorThatNamesThemOnEveryRank) {
  with_stages(2, [](const ShardOptions& options, const std::string&) {
    const auto model = built<WithSpare>();
    const sharding::State state = shard(*model, options);
    const std::string error =
        error_of([&] { pass_with(*model, random_batch(0), /*spare=*/false); });
    EXPECT_THAT(error,
                AllOf(HasSubstr("rank " + std::to_string(options.group->rank())),
                      HasSubstr("spare.weight"),
                      HasSubstr("spare.bias"),
                      HasSubstr("find_unused"),
                      Not(HasSubstr("first"))));
  });
}

TEST(Unused, LeaveTheModelUsableAfterTheError) {
  Trial trial = trial_of<WithSpare>();
  const auto expected = train_alone(trial);
  trial.pass = [](TinyModel& model, const Batch& batch) {
    static_cast<void>(error_of([&] { pass_with(model, batch, /*spare=*/false); }));
    pass_with(model, batch, /*spare=*/true);
  };
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    require_close(train_sharded(trial, options), expected, trial.tolerance, stage);
  });
}

/// Waits, at the end of a rank, for the ends of the others: none of them is found to be gone.
struct StaysForAll {
  std::latch& all;
  ~StaysForAll() { all.arrive_and_wait(); }
};

/// Returns what each rank ends with where rank 1 alone goes without the layer in step `skipped`.
std::vector<std::string> errors_of_one_that_skips(const Strategy& strategy,
                                                  int skipped,
                                                  Seconds timeout) {
  constexpr int kRanks = 3;
  std::vector<std::string> errors(kRanks);
  std::latch ended(kRanks);
  const auto body = [&](const comm::Group& world) {
    const StaysForAll stays{ended};
    const auto model = built<WithSpare>();
    const sharding::State state = shard(*model, over(strategy, world));
    optim::AdamW optimizer(state.slots());
    for (int step = 0; step < skipped; ++step) {
      pass_with(*model, random_batch(step), /*spare=*/true);
      optimizer.step();
    }
    errors.at(static_cast<std::size_t>(world.rank())) =
        error_of([&] { pass_with(*model, random_batch(skipped), world.rank() != 1); });
  };
  comm::run_ranks(kRanks, body, {.backend = comm::BackendKind::shared, .timeout = timeout});
  return errors;
}

TEST(Unused, OnOneRankAloneAreNamedThereAndTheOthersWaitNoLongerThanTheirTimeout) {
  for (Strategy strategy : stages()) {
    SCOPED_TRACE(strategy.name);
    // What not all ranks run must be in a unit that they do run: see below.
    if (strategy.options.stage == Stage::zero3) strategy.options.policy = sharding::Policy::flat;
    const auto errors = errors_of_one_that_skips(strategy, /*skipped=*/0, Seconds(4));
    EXPECT_THAT(
        errors[1],
        AllOf(HasSubstr("rank 1: no gradient came for spare.weight"), HasSubstr("find_unused")));
    for (const std::string& other : {errors[0], errors[2]}) {
      EXPECT_THAT(other,
                  AnyOf(HasSubstr("timed out after 4.0 s: rank 1 did not arrive"),
                        HasSubstr("gave up waiting")));
    }
  }
}

TEST(Unused, OnOneRankAloneAreNamedByAllWhereTheirUnitIsGathered) {
  for (const Strategy& strategy : stages()) {
    if (strategy.options.stage != Stage::zero3) continue;
    // By the last of these steps units are prefetched, also one that is then not used.
    for (const int skipped : {0, 1, 3}) {
      SCOPED_TRACE(strategy.name + ", step " + std::to_string(skipped));
      for (const std::string& error : errors_of_one_that_skips(strategy, skipped, Seconds(60))) {
        EXPECT_THAT(error,
                    AnyOf(AllOf(HasSubstr("ranks disagree"), HasSubstr("for unit spare")),
                          HasSubstr("rank 1: no gradient came for spare.weight")));
      }
    }
  }
}

TEST(Unused, SitOutWhereAllowed) {
  const Trial trial = with_spare([](int) { return false; });
  expect_same_as_alone(trial, 2, /*find_unused=*/true);
  expect_same_as_alone(trial, 3, /*find_unused=*/true);
}

TEST(Unused, KeepEveryBitWhereTheySitOut) {
  const Trial trial = with_spare([](int) { return false; });
  const auto before = values_of(*trial.build());
  with_stages(3, [&](ShardOptions options, const std::string& stage) {
    options.find_unused = true;
    const auto after = train_sharded(trial, options);
    require_equal(after.at("spare.weight"), before.at("spare.weight"), stage);
    require_equal(after.at("spare.bias"), before.at("spare.bias"), stage);
  });
}

TEST(Unused, TakePartInTheStepsThatUseThem) {
  Trial trial = with_spare([](int step) { return step % 3 == 1; });
  trial.steps = 6;
  expect_same_as_alone(trial, 2, /*find_unused=*/true);
}

/// Trains alone what two ranks do with their halves, one after the other.
sharding::NamedTensors train_for_two(Trial trial) {
  trial.pass = [pass = trial.pass](TinyModel& model, const Batch& batch) {
    pass(model, batch.part(0, 2));
    pass(model, batch.part(1, 2));
  };
  return train_alone(trial);
}

TEST(Unused, TakePartEverywhereWhenOneRankUsedThem) {
  Trial trial = with_spare([](int) { return true; });
  trial.batch = [batch = trial.batch](std::int64_t step) {
    Batch all = batch(step);
    all.inputs.select(1, 0).slice(0, kSamples / 2).fill_(-1.0);  // rank 1 goes without
    return all;
  };
  const auto expected = train_for_two(trial);
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.find_unused = true;
    // All ranks gather the same units, so what not all run must be in a unit that they do run.
    options.policy = sharding::Policy::flat;
    require_close(train_sharded(trial, options), expected, trial.tolerance, stage);
  });
}

/// Uses the layer in the first of two passes.
Trial used_first() {
  Trial trial = trial_of<WithSpare>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    pass_with(model, batch.part(0, 2), /*spare=*/true);
    pass_with(model, batch.part(1, 2), /*spare=*/false);
  };
  return trial;
}

TEST(Unused, TakePartWhenAnEarlierPassOfTheStepUsedThem) {
  const auto expected = train_for_two(used_first());
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.find_unused = true;
    require_close(train_sharded(used_first(), options), expected, 1e-9, stage);
  });
}

TEST(Unused, TakePartWhenALocalPassOfTheStepUsedThem) {
  const auto expected = train_for_two(used_first());
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = built<WithSpare>();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-2, .weight_decay = 0.1});
    for (int step = 0; step < 4; ++step) {
      const Batch own = random_batch(step).part(options.group->rank(), 2);
      {
        const auto local = state.no_sync();
        pass_with(*model, own.part(0, 2), /*spare=*/true);
      }
      pass_with(*model, own.part(1, 2), /*spare=*/false);
      optimizer.step();
    }
    require_close(state.gather_full(), expected, 1e-9, stage);
  });
}

TEST(Unused, SitOutOfAForeignOptimizerToo) {
  const auto before = values_of(*built<WithSpare>());
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.find_unused = true;
    const auto model = built<WithSpare>();
    const sharding::State state = shard(*model, options);
    torch::optim::AdamW optimizer(state.parameters(), torch::optim::AdamWOptions(1e-2));
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      pass_with(*model, random_batch(step), /*spare=*/false);
      optimizer.step();
    }
    const auto after = state.gather_full();
    require_equal(after.at("spare.weight"), before.at("spare.weight"), stage);
    require(!after.at("first.weight").equal(before.at("first.weight")), stage + ": no step");
  });
}

}  // namespace
}  // namespace sheaf::testing
