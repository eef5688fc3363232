// What users hook in, what they ask about gradients, and what they are told when something is
// wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "sharding/training.h"
#include "sharding/trial_models.h"
#include "sheaf/base/error.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/reduce_hook.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Throws unless this rank's parts of the gradients are those of `whole`, bit for bit.
void require_gradients(const sharding::State& state,
                       const std::map<std::string, at::Tensor>& whole,
                       const std::string& what) {
  const auto slices = state.slices();
  const auto handles = state.parameters();
  std::map<std::string, at::Tensor> expected;
  for (const sharding::Slice& slice : slices) {
    const at::Tensor flat = whole.at(slice.name).flatten();
    expected[slice.name] = flat.narrow(0, slice.begin, slice.values.numel());
  }
  // Handles come in the order of the model's parameters.
  std::size_t next = 0;
  for (const auto& item : built<Stack>()->named_parameters()) {
    const at::Tensor& handle = handles.at(next++);
    if (handle.numel() == 0) continue;
    require_equal(handle.grad().flatten(), expected.at(item.key()), what + ": " + item.key());
  }
}

std::map<std::string, at::Tensor> local_gradients(const Batch& batch) {
  const auto model = built<Stack>();
  one_pass(*model, batch);
  std::map<std::string, at::Tensor> gradients;
  for (const auto& item : model->named_parameters()) gradients[item.key()] = item.value().grad();
  return gradients;
}

TEST(ReduceHook, SendsBrainFloat) {
  std::map<std::string, at::Tensor> expected;
  const auto first = local_gradients(random_batch(0).part(0, 2));
  for (const auto& [name, second] : local_gradients(random_batch(0).part(1, 2))) {
    const at::Tensor sum =
        first.at(name).mul(0.5).to(at::kBFloat16) + second.mul(0.5).to(at::kBFloat16);
    expected[name] = sum.to(at::kDouble);
  }
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.reduce_hook = sharding::cast_hook(at::kBFloat16);
    options.gradient_scale = 0.5;
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    one_pass(*model, random_batch(0).part(options.group->rank(), 2));
    require_gradients(state, expected, stage);
  });
}

TEST(Gradients, AreTracedToTheRankThatMadeThem) {
  with_stages(3, [](ShardOptions options, const std::string& stage) {
    options.trace_non_finite = true;
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    Batch own = random_batch(0).part(options.group->rank(), 3);
    if (options.group->rank() == 1) own.inputs = own.inputs / 0.0;
    one_pass(*model, own);
    const auto found = state.non_finite_gradients();
    require(!found.empty(), stage + ": nothing found");
    for (const sharding::NonFinite& each : found) {
      require(each.made_there && each.rank == 1, stage + ": another rank");
    }
    state.zero_gradients();
    one_pass(*model, random_batch(1).part(options.group->rank(), 3));
    require(state.non_finite_gradients().empty(), stage + ": remembered");
  });
}

TEST(ReduceHook, RefusesTypesThatAreNotSmall) {
  EXPECT_THAT(error_of([] { static_cast<void>(sharding::cast_hook(at::kFloat)); }),
              HasSubstr("got Float"));
}

/// Exchanges as the engine would, and counts.
class Counting final : public sharding::ReduceHook {
 public:
  comm::Work start(const sharding::GradientExchange& exchange,
                   const comm::Group& group,
                   std::shared_ptr<void>&) override {
    ++started[std::string(exchange.unit)];
    if (!exchange.sharded()) return group.all_reduce(exchange.local, {.scale = exchange.scale});
    return group.reduce_scatter(exchange.result, exchange.local, {.scale = exchange.scale});
  }
  void finish(const sharding::GradientExchange& exchange, std::shared_ptr<void>&) override {
    ++finished[std::string(exchange.unit)];
  }

  std::map<std::string, int> started, finished;
};

TEST(ReduceHook, IsCalledOncePerUnitAndPass) {
  const auto expected = train_alone(trial_of<Stack>());
  with_stages(3, [&](ShardOptions options, const std::string& stage) {
    const auto hook = std::make_shared<Counting>();
    options.reduce_hook = hook;
    require_close(train_sharded(trial_of<Stack>(), options), expected, 1e-9, stage);
    require(hook->started.size() > 1 && hook->started == hook->finished, stage);
    for (const auto& [unit, calls] : hook->started) require(calls == 4, stage + ": " + unit);
  });
}

TEST(Gradients, AreReportedWhereTheyAreNotFinite) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    one_pass(*model, random_batch(0));
    require(state.non_finite_gradients().empty(), stage + ": found without need");
    at::Tensor bias = state.parameters().back();
    const bool own = bias.numel() > 0;
    if (own) bias.mutable_grad().fill_(std::numeric_limits<double>::infinity());
    bool found = false;
    for (const sharding::NonFinite& each : state.non_finite_gradients()) {
      require(each.parameter == "head.bias", stage + ": " + each.parameter);
      found = found || each.rank == options.group->rank();
    }
    require(found == own, stage);
  });
}

TEST(Gradients, HaveANormThatCountsTiedOnesOnce) {
  const auto alone = built<TiedSiblings>();
  one_pass(*alone, random_batch(0));
  const double expected = torch::nn::utils::clip_grad_norm_(distinct_parameters(*alone), 100.0);
  for (const int num_ranks : {1, 3}) {
    with_stages(num_ranks, [&](const ShardOptions& options, const std::string& stage) {
      const auto model = built<TiedSiblings>();
      const sharding::State state = shard(*model, options);
      one_pass(*model, random_batch(0).part(options.group->rank(), options.group->size()));
      const double norm = state.clip_gradients(100.0).item<double>();
      require(std::abs(norm - expected) < 1e-9, stage + ": " + std::to_string(norm));
    });
  }
}

/// Has another shape on another rank.
struct Shaped final : TinyModel {
  explicit Shaped(int rank) : weight(register_parameter("weight", at::ones({4, 5 + rank / 2}))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor&) override { return inputs.sum(); }
  at::Tensor weight;
};

TEST(Agreement, TellsWhichRankHasAnotherModel) {
  with_stages(3, [](const ShardOptions& options, const std::string&) {
    Shaped model(options.group->rank());
    EXPECT_THAT(error_of([&] { static_cast<void>(shard(model, options)); }),
                AllOf(HasSubstr("models differ"),
                      HasSubstr("rank 2 has parameter weight [4, 6]"),
                      HasSubstr("rank 0 has parameter weight [4, 5]")));
  });
}

TEST(Agreement, TellsWhichRankHasOtherOptions) {
  with_stages(2, [](ShardOptions options, const std::string&) {
    options.gradient_scale = options.group->rank() == 0 ? 1.0 : 0.5;
    const auto model = built<Stack>();
    EXPECT_THAT(
        error_of([&] { static_cast<void>(shard(*model, options)); }),
        AllOf(HasSubstr("options for shard() differ"), HasSubstr("rank 1 has gradient_scale 0.5")));
  });
}

/// What the ranks are told where only rank 1 has this option, which some of them could not have.
std::string told_where_rank_1(const std::function<void(ShardOptions&)>& differs) {
  std::string told;
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
    ShardOptions options{.group = world};
    if (world.rank() == 1) differs(options);
    const auto model = built<Stack>();
    const std::string own = error_of([&] { static_cast<void>(shard(*model, options)); });
    if (world.rank() == 0) told = own;
  });
  return told;
}

TEST(Agreement, TellsEveryOptionThatDiffers) {
  EXPECT_THAT(told_where_rank_1([](ShardOptions& options) { options.stage = Stage::zero1; }),
              HasSubstr("rank 1 has stage 1, rank 0 has stage 3"));
  EXPECT_THAT(told_where_rank_1([](ShardOptions& options) { options.max_gathered = 3; }),
              HasSubstr("rank 1 has prefetch true, max_gathered 3"));
  EXPECT_THAT(told_where_rank_1([](ShardOptions& options) { options.find_unused = true; }),
              HasSubstr("find_unused true"));
  EXPECT_THAT(told_where_rank_1([](ShardOptions& options) { options.wrap.types = {"Layer"}; }),
              HasSubstr("wrap types [Layer]"));
}

TEST(Agreement, ComesBeforeARankRefusesItsOwnOptions) {
  EXPECT_THAT(told_where_rank_1([](ShardOptions& options) { options.wrap.names = {"nowhere"}; }),
              HasSubstr("names [nowhere]"));
  EXPECT_THAT(
      told_where_rank_1([](ShardOptions& options) { options.policy = sharding::Policy::bucketed; }),
      HasSubstr("rank 1 has policy"));
}

/// What the ranks are told where rank 1 has changed its model.
std::string told_where_rank_1_has(const std::function<void(torch::nn::Module&)>& change) {
  std::string told;
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
    const auto model = built<Stack>();
    if (world.rank() == 1) change(*model);
    const std::string own = error_of([&] { static_cast<void>(shard(*model, {.group = world})); });
    if (world.rank() == 0) told = own;
  });
  return told;
}

TEST(Agreement, TellsWhichRankHasAnotherTypeOrFrozenOrMoreParameters) {
  EXPECT_THAT(told_where_rank_1_has([](torch::nn::Module& model) { model.to(at::kFloat); }),
              HasSubstr("rank 1 has parameter first.weight [7, 6] Float"));
  EXPECT_THAT(told_where_rank_1_has(
                  [](torch::nn::Module& model) { model.parameters()[1].requires_grad_(false); }),
              HasSubstr("rank 1 has frozen parameter first.bias"));
  EXPECT_THAT(told_where_rank_1_has([](torch::nn::Module& model) {
                model.register_parameter("more", at::ones({2}, at::kDouble));
              }),
              HasSubstr("rank 1 has parameter more [2] Double"));
}

struct Sparse final : TinyModel {
  Sparse()
      : table(register_module(
            "table", torch::nn::Embedding(torch::nn::EmbeddingOptions(5, kClasses).sparse(true)))) {
  }
  at::Tensor loss(const at::Tensor&, const at::Tensor& targets) override {
    return sum_of_losses(table(targets), targets);
  }
  torch::nn::Embedding table;
};

TEST(Gradients, AreRefusedWhenSparse) {
  with_stages(2, [](const ShardOptions& options, const std::string&) {
    const auto model = built<Sparse>();
    const sharding::State state = shard(*model, options);
    EXPECT_THAT(error_of([&] { one_pass(*model, random_batch(0)); }),
                AllOf(HasSubstr("table.weight is sparse"), HasSubstr("sparse(true)")));
  });
}

TEST(Gradients, AreMissedByAStepWithoutABackwardPass) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots());
    const auto refused = [&] {
      EXPECT_THAT(error_of([&] { optimizer.step(); }), HasSubstr("run a backward pass first"))
          << stage;
    };
    refused();
    one_pass(*model, random_batch(0));
    optimizer.step();
    refused();
  });
}

}  // namespace
}  // namespace sheaf::testing
