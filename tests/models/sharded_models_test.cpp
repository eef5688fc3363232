// Models that are cut over ranks train and write as one rank does, also when a rank has no samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/trial_texts.h"
#include "sheaf/models/generate.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/optim/sgd.h"
#include "sheaf/sharding/shard.h"
#include "support/on_ranks.h"

namespace sheaf::models {
namespace {

using sharding::NamedTensors;
using testing::require;

constexpr int kRanks = 3;
constexpr std::int64_t kSamples = 4;
constexpr std::int64_t kEach = 2;  // so that the last rank has none
constexpr std::uint64_t kSeed = 3;
constexpr int kSteps = 3;
// Sums in another order; a step of these models moves a weight by far more.
constexpr double kTolerance = 2e-5;

struct Task {
  ModelOptions options;
  at::Tensor inputs;
  at::Tensor targets;
};

/// Without dropout models are computed in larger pieces.
Task task_of(const std::string& preset, double dropout = 0.1) {
  const at::Tensor digits = testing::random_texts({kSamples, 28, 28}, 256).to(at::kByte);
  if (preset.starts_with("mnist")) {
    return {{.preset = preset}, digits, testing::random_texts({kSamples}, 10)};
  }
  const at::Tensor texts = testing::random_texts({kSamples, 16}, 256);
  ModelOptions options{.preset = preset, .context = 16, .attention_dropout = dropout};
  if (preset.starts_with("gpt2")) options.dropout = dropout;
  return {options, texts, texts.roll(-1, 1)};
}

ShardOptions options_on(const comm::Group& group, Stage stage, const Model& model) {
  ShardOptions options{.group = group, .stage = stage};
  if (stage == Stage::zero3) options.wrap.names = model.blocks();
  options.wake = stage == Stage::zero3 && !options.wrap.names.empty() ? sharding::Wake::boundary
                                                                      : sharding::Wake::automatic;
  options.seed = kSeed;
  return options;
}

/// Units of modules with this many parameters, which any operator wakes.
ShardOptions by_size(const comm::Group& group, std::int64_t parameters) {
  return {.group = group,
          .stage = Stage::zero3,
          .wrap = {.min_parameters = parameters},
          .wake = sharding::Wake::touch,
          .seed = kSeed};
}

using Choice = std::function<ShardOptions(const Model& model)>;

NamedTensors train(const Task& task, const Choice& choice, const comm::Group& group) {
  const auto model = deferred([&] { return build(task.options); });
  const auto state = shard(*model, choice(*model));
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.01});
  const std::int64_t each = group.size() == 1 ? kSamples : kEach;
  const std::int64_t begin = std::min(group.rank() * each, kSamples);
  const std::int64_t count = std::min(each, kSamples - begin);
  for (int step = 0; step < kSteps; ++step) {
    const Pass pass{.random = {.seed = 1, .step = step, .first_sample = begin}};
    const at::Tensor loss = sheaf::forward(
        *model, task.inputs.narrow(0, begin, count), task.targets.narrow(0, begin, count), pass);
    loss.backward();
    optimizer.step();
  }
  return state.gather_full();
}

NamedTensors train_alone(const Task& task) {
  NamedTensors values;
  testing::on_ranks(testing::Way::shared_threads, 1, [&](const comm::Group& group) {
    const auto plain = [&](const Model& model) { return options_on(group, Stage::ddp, model); };
    values = train(task, plain, group);
  });
  return values;
}

using Case = std::tuple<std::string, Stage>;

std::string name_of(const ::testing::TestParamInfo<Case>& tested) {
  std::string name = std::get<0>(tested.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_stage" + std::to_string(static_cast<int>(std::get<1>(tested.param)));
}

class ShardedModel : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Presets,
    ShardedModel,
    ::testing::Combine(::testing::Values("gpt2-tiny", "smollm3-tiny", "llama-tiny", "mnist-cnn"),
                       ::testing::Values(Stage::ddp, Stage::zero2, Stage::zero3)),
    name_of);

/// The same for all ways to cut a model.
void expect_steps_of_one_rank(const Task& task,
                              const std::function<Choice(const comm::Group& group)>& choice) {
  const NamedTensors expected = train_alone(task);
  testing::on_ranks(testing::Way::shared_threads, kRanks, [&](const comm::Group& group) {
    const NamedTensors actual = train(task, choice(group), group);
    require(actual.size() == expected.size(), "the same parameters");
    for (const auto& [name, value] : expected) {
      require(actual.at(name).allclose(value, kTolerance, kTolerance), name);
    }
  });
}

TEST_P(ShardedModel, TakesTheStepsOfOneRank) {
  const auto& [preset, stage] = GetParam();
  ::testing::internal::CaptureStderr();
  expect_steps_of_one_rank(task_of(preset), [stage = stage](const comm::Group& group) {
    return [group, stage](const Model& model) { return options_on(group, stage, model); };
  });
  // A unit that was used outside of its block would be named there.
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ShardedModelInOnePiece, TakesTheStepsOfOneRankWithUnitsBySize) {
  for (const std::string preset : {"gpt2-tiny", "smollm3-tiny"}) {
    SCOPED_TRACE(preset);
    expect_steps_of_one_rank(task_of(preset, /*dropout=*/0), [](const comm::Group& group) {
      return [group](const Model&) { return by_size(group, 1000); };
    });
  }
}

TEST(ShardedGenerate, WritesWhatOneRankWrites) {
  const ModelOptions options{.preset = "smollm3-tiny", .context = 16};
  const std::vector<std::int64_t> prompt{1, 2, 3};
  const auto alone = testing::seeded_model(options, kSeed);
  const auto expected = generate(*alone, prompt, {.max_new_tokens = 8, .seed = 5});
  testing::on_ranks(testing::Way::shared_threads, kRanks, [&](comm::Group group) {
    const auto model = deferred([&] { return build(options); });
    const auto state = shard(*model, options_on(group, Stage::zero3, *model));
    require(generate(*model, prompt, {.max_new_tokens = 8, .seed = 5}) == expected, "the tokens");
  });
}

}  // namespace
}  // namespace sheaf::models
