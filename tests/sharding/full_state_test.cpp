// Whole parameters: gathered, loaded, summoned, and as slices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "sheaf/base/error.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using sharding::NamedTensors;
using ::testing::HasSubstr;

/// Has what full states must cover: a tied weight, a frozen one, a buffer.
struct Full final : TinyModel {
  Full()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", Layer(first->weight))),
        head(register_module("head", Layer(kFeatures, kClasses))) {
    second->bias.requires_grad_(false);
    register_buffer("table", at::randn({3}));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = sheaf::forward(*second, sheaf::forward(*first, inputs));
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, second, head;
};

void require_same(const NamedTensors& actual, const NamedTensors& expected, const std::string& at) {
  require(actual.size() == expected.size(), at + ": another number of values");
  for (const auto& [name, value] : expected)
    require_equal(actual.at(name), value, at + ": " + name);
}

/// The values of a fresh model, each under its first name.
NamedTensors fresh_values() {
  NamedTensors values = values_of(*built<Full>());
  values.erase("second.weight");
  return values;
}

NamedTensors other_values() {
  NamedTensors values = fresh_values();
  for (auto& [name, value] : values) value = value * 2 + 1;
  return values;
}

TEST(FullState, IsTheModelsOwnAtTheStart) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    require_same(state.gather_full(), fresh_values(), stage);
  });
}

TEST(FullState, IsGivenToRankZeroAloneWhereAsked) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    const NamedTensors given = state.gather_full(/*everywhere=*/false);
    const bool first = options.group->rank() == 0;
    require_same(given, first ? fresh_values() : NamedTensors{}, stage);
  });
}

TEST(FullState, IsLoadedFromRankZero) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    state.load_full(options.group->rank() == 0 ? other_values() : NamedTensors{});
    require_same(state.gather_full(), other_values(), stage);
    const auto summoned = state.summon(*model);
    for (const auto& item : model->named_parameters()) {
      if (item.key() == "second.weight") continue;
      require_equal(item.value().detach(), other_values().at(item.key()), stage + ", in the model");
    }
  });
}

TEST(FullState, MayNameATiedParameterEitherWay) {
  NamedTensors values = other_values();
  values["second.weight"] = values.at("first.weight");
  values.erase("first.weight");
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    state.load_full(values);
    require_same(state.gather_full(), other_values(), stage);
  });
}

/// Every rank refuses rank 0's values with this text and keeps its own.
void expect_refused(const NamedTensors& values, const std::string& text) {
  with_stages(3, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    const NamedTensors own = options.group->rank() == 0 ? values : NamedTensors{};
    EXPECT_THROW(state.load_full(own), UsageError) << stage;
    EXPECT_THAT(error_of([&] { state.load_full(own); }), HasSubstr(text)) << stage;
    require_same(state.gather_full(), fresh_values(), stage);
  });
}

TEST(FullState, IsRefusedWhenAParameterIsMissing) {
  NamedTensors values = other_values();
  values.erase("head.bias");
  expect_refused(values, "head.bias is missing");
}

TEST(FullState, IsRefusedWhenABufferIsMissing) {
  NamedTensors values = other_values();
  values.erase("table");
  expect_refused(values, "table is missing");
}

TEST(FullState, IsRefusedWhenANameIsUnknown) {
  NamedTensors values = other_values();
  values["tail.bias"] = at::ones({3});
  expect_refused(values, "the model has no tail.bias");
}

TEST(FullState, IsRefusedWhenAShapeDiffers) {
  NamedTensors values = other_values();
  values["head.bias"] = at::ones({4}, at::kDouble);
  expect_refused(values, "head.bias has shape [4], the model's has [3]");
}

TEST(FullState, IsReadByPointerWhileSummoned) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    const NamedTensors expected = fresh_values();
    const auto summoned = state.summon(*model);
    for (const auto& item : model->named_parameters()) {
      if (item.key() == "second.weight") continue;
      const at::Tensor seen =
          at::from_blob(item.value().data_ptr(), item.value().sizes(), at::kDouble);
      require_equal(seen, expected.at(item.key()), stage);
    }
  });
}

TEST(FullState, KeepsWhatWasWrittenByPointerWhileSummoned) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    {
      const auto summoned = state.summon(*model, /*write=*/true);
      for (const at::Tensor& parameter : model->parameters()) {
        auto* values = static_cast<double*>(parameter.data_ptr());
        std::fill(values, values + parameter.numel(), 3.0);
      }
    }
    for (const auto& [name, value] : state.gather_full()) {
      require(name == "table" || value.eq(3).all().item<bool>(), stage + ": " + name);
    }
  });
}

TEST(FullState, SummonsOneBlockAlone) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, {.group = world});
    const auto& stack = dynamic_cast<Stack&>(*model);
    const auto summoned = state.summon(*stack.second);
    require(stack.second->weight.storage().nbytes() > 0, "the block is not there");
    require(stack.first->weight.storage().nbytes() == 0, "another block came, too");
  });
}

TEST(FullState, LosesNoBitOfMastersThatNobodyWroteTo) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kBFloat16;
    const auto model = built<Stack>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    NamedTensors expected = values_of(*built<Stack>(/*as_is=*/true));
    {
      const auto summoned = state.summon(*model, /*write=*/true);
      const at::NoGradGuard no_grad;
      dynamic_cast<Stack&>(*model).head->bias.fill_(3);
    }
    expected["head.bias"].fill_(3);
    require_same(state.gather_full(), expected, stage);
  });
}

TEST(FullState, IsCoveredOnceBySlices) {
  with_stages(3, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    const NamedTensors whole = state.gather_full();
    for (const sharding::Slice& slice : state.slices()) {
      const at::Tensor expected = whole.at(slice.name).flatten();
      const auto size = slice.values.numel();
      require_equal(slice.values, expected.narrow(0, slice.begin, size), stage + ": values");
      const at::Tensor covered = at::zeros_like(expected);
      covered.narrow(0, slice.begin, size).fill_(1);
      options.group->all_reduce(covered).wait();
      const int copies = options.stage == Stage::ddp ? 3 : 1;
      require(covered.eq(copies).all().item<bool>(), stage + ": " + slice.name);
    }
    require(state.slices().size() == whole.size(), stage + ": number of slices");
  });
}

TEST(FullState, LetsTrainingGoOnAsIfNothingHadBeen) {
  const auto train = [](const ShardOptions& options, bool interrupted) {
    const auto model = built<Full>();
    const sharding::State state = shard(*model, options);
    optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1, .momentum = 0.9});
    for (int step = 0; step < 4; ++step) {
      one_pass(*model, random_batch(step).part(options.group->rank(), 2));
      optimizer.step();
      if (!interrupted) continue;
      const NamedTensors values = state.gather_full();
      state.load_full(other_values());
      state.load_full(values);
    }
    return state.gather_full();
  };
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    require_same(train(options, true), train(options, false), stage);
  });
}

}  // namespace
}  // namespace sheaf::testing
