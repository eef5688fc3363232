// A checkpoint of any strategy on any number of ranks goes on under any other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "sharding/strategies.h"
#include "sharding/training.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/restore.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"
#include "support/same_tensors.h"
#include "support/temporary_folder.h"
#include "train/saved_tensors.h"

namespace sheaf::testing {
namespace {

constexpr std::int64_t kBatch = 12;
constexpr std::int64_t kFirstSteps = 3;
constexpr std::int64_t kNextSteps = 5;
// Sums of another number of ranks are rounded otherwise. Losses show little of it; weights whose
// gradient is nothing but rounding, as the bias of keys, are moved by AdamW at will.
constexpr double kTolerance = 2e-5;

struct Cut {
  Strategy strategy;
  int ranks = 1;

  [[nodiscard]] std::string name() const {
    return fmt::format("{} on {} ranks", strategy.name, ranks);
  }
};

std::vector<Cut> cuts() {
  const layout::BucketOptions buckets{.cap = {600}, .first_cap = {100}};
  std::vector<Cut> all;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    all.push_back({{"ddp", {.stage = Stage::ddp, .buckets = buckets}}, ranks});
    all.push_back({{"zero1", {.stage = Stage::zero1, .buckets = buckets}}, ranks});
    all.push_back({{"zero2", {.stage = Stage::zero2}}, ranks});
    all.push_back({{"zero3", {.stage = Stage::zero3}}, ranks});
  }
  all.push_back({{"hybrid:zero3", {.stage = Stage::zero3}, 2}, 4});
  return all;
}

/// A model on one rank, with what it needs to be trained.
class Trainee {
 public:
  Trainee(const Task& task, const Cut& cut, const comm::Group& group)
      : task_(task),
        group_(group),
        model_(task.build(group)),
        state_{.model = shard(*model_, over(cut.strategy, group)), .optimizer = nullptr} {
    state_.optimizer = std::make_shared<optim::AdamW>(
        state_.model.slots(), optim::AdamWOptions{.learning_rate = 1e-2, .weight_decay = 0.1});
  }

  Outcome train(std::int64_t steps) {
    Outcome outcome;
    for (std::int64_t i = 0; i < steps; ++i, ++state_.step) {
      const Batch batch = task_.batch(state_.step, kBatch).part(group_.rank(), group_.size());
      const at::Tensor loss =
          sheaf::forward(*model_, batch.inputs, batch.targets) / static_cast<double>(kBatch);
      loss.backward();
      state_.optimizer->step();
      const at::Tensor sum = loss.detach().to(at::kDouble);
      group_.all_reduce(sum).wait();
      outcome.losses.push_back(sum.item<double>());
    }
    outcome.values = state_.model.gather_full();
    return outcome;
  }

  void save(const std::string& folder) const {
    train::SavedTensors tensors = train::saved_tensors(state_, group_.rank() == 0);
    checkpoint::Saver saver({.folder = folder, .group = group_, .smallest_file = Bytes{2000}});
    saver.start({.step = state_.step, .weights = tensors.weights, .state = tensors.state},
                tensors.parts);
    require(saver.wait().has_value(), "nothing was saved");
  }

  void load(const std::string& folder) {
    const auto step =
        checkpoint::restore_newest(folder, group_, [&](const checkpoint::Reader& reader) {
          train::check_fits(reader, state_);
          train::load_tensors(reader, state_);
        });
    state_.step = step.value();
    optim::StepCounts counts = state_.optimizer->step_counts();
    counts.steps = state_.step;
    for (auto& of_segment : counts.slots) of_segment.assign(of_segment.size(), state_.step);
    state_.optimizer->set_step_counts(counts);
  }

 private:
  const Task& task_;
  comm::Group group_;
  std::shared_ptr<TinyModel> model_;
  train::TrainingState state_;
};

/// Saves a first state to `folder`.
void begin(const Task& task, const std::string& folder) {
  comm::run_ranks(1, [&](const comm::Group& group) {
    Trainee trainee(task, cuts().front(), group);
    static_cast<void>(trainee.train(kFirstSteps));
    trainee.save(folder);
  });
}

/// Loads from one folder and saves to another.
void pass_on(const Task& task, const Cut& cut, const std::string& from, const std::string& to) {
  comm::run_ranks(cut.ranks, [&](const comm::Group& group) {
    Trainee trainee(task, cut, group);
    trainee.load(from);
    trainee.save(to);
  });
}

Outcome go_on(const Task& task, const Cut& cut, const std::string& from) {
  Outcome outcome;
  comm::run_ranks(cut.ranks, [&](const comm::Group& group) {
    Trainee trainee(task, cut, group);
    trainee.load(from);
    Outcome own = trainee.train(kNextSteps);
    if (group.rank() == 0) outcome = std::move(own);
  });
  return outcome;
}

class Reshard : public ::testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Models,
                         Reshard,
                         ::testing::Values(gpt_task(), cnn_task()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Reshard, EveryPairOfStrategiesAndRanksGoesOnAlike) {
  const TemporaryFolder folder;
  const std::string first = folder.path("first");
  std::filesystem::create_directories(first);
  begin(GetParam(), first);
  std::map<std::string, Outcome> references;
  for (const Cut& to : cuts()) references[to.name()] = go_on(GetParam(), to, first);
  for (const Cut& from : cuts()) {
    const std::string second = folder.path(from.name());
    std::filesystem::create_directories(second);
    pass_on(GetParam(), from, first, second);
    require_same_tensors(second + "/latest", first + "/latest");
    for (const Cut& to : cuts()) {
      require_same_bits(go_on(GetParam(), to, second),
                        references.at(to.name()),
                        "from " + from.name() + " to " + to.name());
    }
  }
}

TEST_P(Reshard, GoesOnLikeARunThatNeverStopped) {
  const TemporaryFolder folder;
  begin(GetParam(), folder.path());
  Outcome whole;
  comm::run_ranks(1, [&](const comm::Group& group) {
    Trainee trainee(GetParam(), cuts().front(), group);
    static_cast<void>(trainee.train(kFirstSteps));
    whole = trainee.train(kNextSteps);
  });
  require_same_bits(go_on(GetParam(), cuts().front(), folder.path()), whole, "one rank");
  for (const Cut& cut : cuts()) {
    const Outcome outcome = go_on(GetParam(), cut, folder.path());
    for (std::size_t step = 0; step < whole.losses.size(); ++step) {
      EXPECT_NEAR(outcome.losses[step], whole.losses[step], kTolerance) << cut.name();
    }
  }
}

TEST(Reshard, StagesGoOnAlikeToTheLastBit) {
  const TemporaryFolder folder;
  const Task task = gpt_task();
  begin(task, folder.path());
  std::map<int, Outcome> of_ranks;
  for (const Cut& cut : cuts()) {
    if (cut.strategy.replicate > 1) continue;
    const Outcome outcome = go_on(task, cut, folder.path());
    const auto [reference, is_first] = of_ranks.emplace(cut.ranks, outcome);
    if (!is_first) require_same_bits(outcome, reference->second, cut.name());
  }
}

TEST(Reshard, RefusesAnotherModel) {
  const TemporaryFolder folder;
  begin(gpt_task(), folder.path());
  const Task other = mlp_task();
  comm::run_ranks(2, [&](const comm::Group& group) {
    Trainee trainee(other, {{"zero3", {.stage = Stage::zero3}}, 2}, group);
    EXPECT_THAT(error_of([&] { trainee.load(folder.path()); }),
                ::testing::HasSubstr("of another run"));
  });
}

}  // namespace
}  // namespace sheaf::testing
