// Models as they are met in practice train in every stage as they do alone.
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

namespace nn = torch::nn;

TEST(RealModels, TrainWithAWeightTiedBetweenSiblings) {
  expect_same_as_alone(trial_of<TiedSiblings>(), 2);
  expect_same_as_alone(trial_of<TiedSiblings>(), 3);
}

struct FrozenBlock final : Stack {
  FrozenBlock() {
    second->weight.requires_grad_(false);
    second->bias.requires_grad_(false);
  }
};

TEST(RealModels, TrainAroundAFrozenBlock) {
  expect_same_as_alone(trial_of<FrozenBlock>(), 2);
  expect_same_as_alone(trial_of<FrozenBlock>(), 3);
}

struct FrozenStart final : Stack {
  FrozenStart() {
    first->weight.requires_grad_(false);
    first->bias.requires_grad_(false);
  }
};

TEST(RealModels, TrainBehindAFrozenBlock) { expect_same_as_alone(trial_of<FrozenStart>(), 2); }

struct HalfFrozen final : Stack {
  HalfFrozen() {
    first->bias.requires_grad_(false);
    second->weight.requires_grad_(false);
  }
};

TEST(RealModels, TrainWithHalfFrozenUnits) {
  expect_same_as_alone(trial_of<HalfFrozen>(), 2);
  expect_same_as_alone(trial_of<HalfFrozen>(), 3);
}

struct UsedTwice final : TinyModel {
  UsedTwice() : weight(register_parameter("weight", at::randn({kFeatures, kFeatures}) * 0.4)) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = at::tanh(inputs.matmul(weight)).matmul(weight.t());
    return sum_of_losses(x.narrow(1, 0, kClasses), targets);
  }
  at::Tensor weight;
};

TEST(RealModels, TrainWithAParameterThatIsUsedTwice) {
  expect_same_as_alone(trial_of<UsedTwice>(), 3);
}

struct ManyTypes final : TinyModel {
  ManyTypes()
      : order(register_parameter("order", at::randperm(kFeatures), /*requires_grad=*/false)),
        single(register_parameter("single", at::randn({kFeatures, 5}) * 0.4)),
        wide(register_parameter("wide", at::randn({5, kClasses}, at::kDouble) * 0.4)) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = inputs.index_select(1, order).to(at::kFloat).matmul(single);
    return sum_of_losses(at::tanh(x).to(at::kDouble).matmul(wide), targets);
  }
  at::Tensor order, single, wide;
};

TEST(RealModels, TrainWithParametersOfSeveralTypes) {
  // One of them is fp32, whose sums differ by some 1e-7; Adam may blow that up where a gradient is
  // small.
  const Trial trial{.build = [] { return built<ManyTypes>(/*as_is=*/true); }, .tolerance = 1e-4};
  expect_same_as_alone(trial, 2);
  expect_same_as_alone(trial, 3);
}

struct SmallAndOdd final : TinyModel {
  SmallAndOdd()
      : scale(register_parameter("scale", at::full({}, 1.5))),
        shift(register_parameter("shift", at::full({1}, 0.1))),
        nothing(register_parameter("nothing", at::empty({0, 4}))),
        up(register_parameter("up", at::randn({kFeatures, 5}) * 0.4)),
        down(register_parameter("down", at::randn({5, kClasses}) * 0.4)) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = at::tanh(inputs.matmul(up) * scale + shift).matmul(down);
    return sum_of_losses(x, targets) + nothing.sum();
  }
  at::Tensor scale, shift, nothing, up, down;
};

TEST(RealModels, TrainWithSmallAndOddShapes) {
  for (const int num_ranks : {1, 2, 3}) expect_same_as_alone(trial_of<SmallAndOdd>(), num_ranks);
}

struct Scalar final : TinyModel {
  Scalar() : scale(register_parameter("scale", at::full({}, 0.5))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(inputs.narrow(1, 0, kClasses) * scale, targets);
  }
  at::Tensor scale;
};

TEST(RealModels, TrainASingleNumberOnMoreRanks) { expect_same_as_alone(trial_of<Scalar>(), 4); }

TEST(RealModels, TrainOnOneRank) { expect_same_as_alone(trial_of<TiedSiblings>(), 1); }

struct Pictures final : TinyModel {
  Pictures()
      : table(register_module("table", nn::Embedding(9, 4))),
        conv(register_module("conv", nn::Conv1d(nn::Conv1dOptions(4, 3, 3).padding(1)))),
        head(register_module("head", nn::Linear(3 * kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor tokens = inputs.mul(2).round().clamp(-4, 4).to(at::kLong) + 4;
    const at::Tensor x = at::tanh(conv(table(tokens).transpose(1, 2)));
    return sum_of_losses(head(x.flatten(1)), targets);
  }
  nn::Embedding table;
  nn::Conv1d conv;
  nn::Linear head;
};

TEST(RealModels, TrainWithConvolutionsAndEmbeddings) {
  expect_same_as_alone(trial_of<Pictures>(), 2);
  expect_same_as_alone(trial_of<Pictures>(), 3);
}

struct CalledTwice final : TinyModel {
  CalledTwice()
      : block(register_module("block", Layer(kFeatures, kFeatures))),
        other(register_module("other", Layer(kFeatures, kFeatures))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = sheaf::forward(*block, inputs);
    x = sheaf::forward(*other, x);
    x = sheaf::forward(*block, x);
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer block, other, head;
};

TEST(RealModels, TrainWithABlockThatIsCalledTwice) {
  expect_same_as_alone(trial_of<CalledTwice>(), 2);
}

struct RegisteredTwice final : TinyModel {
  RegisteredTwice()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", first)),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = sheaf::forward(*second, sheaf::forward(*first, inputs));
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, second, head;
};

TEST(RealModels, TrainWithABlockThatHasTwoNames) {
  expect_same_as_alone(trial_of<RegisteredTwice>(), 2);
}

struct CrossImpl : nn::Module {
  CrossImpl()
      : left(register_parameter("left", at::randn({kFeatures, kFeatures}) * 0.4)),
        right(register_parameter("right", at::randn({kFeatures, kFeatures}) * 0.4)) {}
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& a, const at::Tensor& b) {
    return {at::tanh(a.matmul(left)), at::tanh(b.matmul(right))};
  }
  at::Tensor left, right;
};
TORCH_MODULE(Cross);

struct TwoStreams final : TinyModel {
  TwoStreams()
      : first(register_module("first", Cross())),
        second(register_module("second", Cross())),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    auto [a, b] = sheaf::forward(*first, inputs, inputs * 2);
    std::tie(a, b) = sheaf::forward(*second, b, a);
    return sum_of_losses(sheaf::forward(*head, a) + b.narrow(1, 0, kClasses), targets);
  }
  Cross first, second;
  Layer head;
};

TEST(RealModels, TrainWithBlocksOfSeveralInputsAndOutputs) {
  expect_same_as_alone(trial_of<TwoStreams>(), 2);
  expect_same_as_alone(trial_of<TwoStreams>(), 3);
}

TEST(RealModels, GatherABlockOfSeveralInputsOnceOnTheWayBack) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<TwoStreams>();
    std::vector<std::string> gathered;
    const sharding::State state = shard(*model,
                                        {.group = world,
                                         .wrap = {.names = {"second"}},
                                         .wake = sharding::Wake::boundary,
                                         .on_event = [&](const sharding::Event& event) {
                                           if (event.kind != sharding::EventKind::gathered) return;
                                           gathered.emplace_back(event.unit);
                                         }});
    one_pass(*model, random_batch(0).part(world.rank(), world.size()));
    const auto times = std::count(gathered.begin(), gathered.end(), "second");
    require(times == 2, "gathered " + std::to_string(times) + " times");
  });
}

}  // namespace
}  // namespace sheaf::testing
