// Values that come part by part: every rank fills what it keeps, and saves what is its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "sheaf/module/deferred.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using sharding::NamedTensors;
using sharding::Slice;

/// Two tied layers, a frozen bias, a head.
struct Mixed final : TinyModel {
  Mixed()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", Layer(first->weight))),
        head(register_module("head", Layer(kFeatures, kClasses))) {
    second->bias.requires_grad_(false);
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = sheaf::forward(*second, sheaf::forward(*first, inputs));
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, second, head;
};

/// Values that no fresh model has, each under its first name; bf16 holds them exactly.
NamedTensors other_values() {
  NamedTensors values = values_of(*built<Mixed>(/*as_is=*/true));
  values.erase("second.weight");
  double next = 0;
  for (auto& [name, value] : values) {
    value = at::arange(value.numel(), at::kFloat).add_(next).remainder_(100).view(value.sizes());
    next += 17;
  }
  return values;
}

void fill_from(const NamedTensors& values, const Slice& slice) {
  slice.values.copy_(values.at(slice.name).flatten().narrow(0, slice.begin, slice.values.numel()));
}

/// What the model computes with, on this rank.
NamedTensors seen_by_the_model(TinyModel& model, const sharding::State& state) {
  const auto summoned = state.summon(model);
  NamedTensors seen;
  for (const auto& item : model.named_parameters()) {
    seen[item.key()] = item.value().detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  }
  seen.erase("second.weight");
  return seen;
}

void require_same(const NamedTensors& actual, const NamedTensors& expected, const std::string& at) {
  require(actual.size() == expected.size(), at + ": another number of values");
  for (const auto& [name, value] : expected)
    require_equal(actual.at(name), value, at + ": " + name);
}

/// Every strategy, with and without low precision and a blank start.
void with_all(int num_ranks, const std::function<void(ShardOptions, const std::string&)>& body) {
  for (const Strategy& strategy : all_strategies(num_ranks)) {
    on_ranks(Way::shared_threads, num_ranks, [&](const comm::Group& world) {
      for (const bool low : {false, true}) {
        ShardOptions options = over(strategy, world);
        if (low) options.precision.compute = at::kBFloat16;
        const std::string text = strategy.name + (low ? ", bf16" : ", fp32");
        body(options, text);
        options.starts_blank = true;
        options.ledger = {};
        body(options, text + ", blank");
      }
    });
  }
}

class LoadTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LoadTest, ::testing::Values(1, 2, 3, 4));

TEST_P(LoadTest, ReachesMastersAndWholeParameters) {
  with_all(GetParam(), [](const ShardOptions& options, const std::string& text) {
    const auto model = built<Mixed>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    const NamedTensors values = other_values();
    state.load([&](const Slice& slice) { fill_from(values, slice); });
    NamedTensors full = state.gather_full();
    for (auto& [name, value] : full) value = value.to(at::kFloat);
    require_same(full, values, text);
    require_same(seen_by_the_model(*model, state), values, text + ", in the model");
  });
}

TEST_P(LoadTest, GivesBackWhatIsOwnedOnceOnAllRanks) {
  with_all(GetParam(), [](const ShardOptions& options, const std::string& text) {
    const auto model = built<Mixed>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    const NamedTensors values = other_values();
    state.load([&](const Slice& slice) { fill_from(values, slice); });
    const comm::Group& world = options.group ? *options.group : options.mesh->world();
    NamedTensors owned;
    for (const auto& [name, value] : values) owned[name] = at::zeros({value.numel(), 2});
    for (const Slice& slice : state.owned_slices()) {
      const at::Tensor part = owned.at(slice.name).narrow(0, slice.begin, slice.values.numel());
      part.select(1, 0).copy_(slice.values);
      part.select(1, 1).fill_(1);
    }
    for (const auto& [name, value] : values) {
      world.all_reduce(owned.at(name)).wait();
      require_equal(owned.at(name).select(1, 0), value.flatten(), text + ": " + name);
      require(owned.at(name).select(1, 1).eq(1).all().item<bool>(), text + ": twice " + name);
    }
  });
}

TEST_P(LoadTest, LetsTrainingGoOnFromThere) {
  const auto train = [](const ShardOptions& options, bool part_by_part) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    NamedTensors values = values_of(*built<Stack>());
    for (auto& [name, value] : values) value = value * 0.5;
    if (part_by_part) {
      state.load([&](const Slice& slice) { fill_from(values, slice); });
    } else {
      state.load_full(values);
    }
    optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1, .momentum = 0.9});
    for (int step = 0; step < 3; ++step) {
      one_pass(*model, random_batch(step).part(options.group->rank(), options.group->size()));
      optimizer.step();
    }
    return state.gather_full();
  };
  with_stages(GetParam(), [&](ShardOptions options, const std::string& stage) {
    const NamedTensors expected = train(options, false);
    options.starts_blank = true;
    require_same(train(options, true), expected, stage);
  });
}

TEST(Load, OfADeferredModelNeedsNoMoreThanTheShards) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = deferred([] { return std::make_shared<Stack>(); });
    const ShardOptions options{.group = world, .starts_blank = true};
    const sharding::State state = shard(*model, options);
    const NamedTensors values = values_of(*built<Stack>(/*as_is=*/true));
    state.load([&](const Slice& slice) { fill_from(values, slice); });
    std::int64_t shards = 0;
    for (const sharding::UnitInfo& unit : state.units()) {
      shards += (unit.num_elements + unit.num_padding) / 2 * 4;
    }
    require(state.ledger().peak(memory::Purpose::parameters).count == shards, "more than shards");
    require(state.ledger().peak(memory::Purpose::gathered).count == 0, "a unit was gathered");
    require_same(state.gather_full(), values, "values");
  });
}

}  // namespace
}  // namespace sheaf::testing
