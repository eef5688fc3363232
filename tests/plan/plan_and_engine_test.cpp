// What is planned is what the engine's own books say, to the byte and to the call.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "sheaf/data/loader.h"
#include "sheaf/module/deferred.h"
#include "sheaf/plan/memory.h"
#include "sheaf/plan/traffic.h"
#include "sheaf/train/prediction.h"
#include "sheaf/train/step.h"
#include "support/on_ranks.h"
#include "train/assembly.h"

namespace sheaf::plan {
namespace {

using memory::Purpose;
using train::RunOptions;

/// Steps of a run, taken by hand.
class Steps {
 public:
  Steps(const RunOptions& options, const comm::Group& world)
      : parts_(train::assemble(options, world)),
        loader_(parts_.data.training,
                {.rank = world.rank(),
                 .ranks = world.size(),
                 .global_batch = options.batch.global,
                 .device = parts_.device}),
        clock_(parts_.device, world),
        step_({.model = parts_.model,
               .state = parts_.state,
               .optimizer = parts_.optimizer,
               .group = world,
               .scaler = parts_.scaler},
              {.schedule = parts_.plan.schedule,
               .micro_batch = parts_.plan.micro_batch,
               .clip = options.optimizer.clip}) {}

  void take() {
    clock_.start();
    static_cast<void>(step_.run(loader_.next(), taken_++, clock_));
  }
  [[nodiscard]] const memory::Ledger& ledger() const { return parts_.state.ledger(); }
  [[nodiscard]] comm::Traffic traffic() const { return parts_.mesh.group("shard").traffic(); }

 private:
  train::Assembly parts_;
  data::Loader loader_;
  train::PhaseClock clock_;
  train::TrainStep step_;
  std::int64_t taken_ = 0;
};

RunOptions small_run(const std::string& preset, const std::string& stage, int ranks) {
  RunOptions options;
  options.model.preset = preset;
  options.model.layers = 3;
  options.model.context = 16;
  options.data.source = data::Source::random;
  options.data.size = 1 << 12;
  options.data.workers = 0;
  options.shard.stage = stage;
  options.shard.bucket = kibibytes(64);
  options.shard.first_bucket = kibibytes(8);
  options.batch.global = 4 * ranks;
  options.batch.micro = 2;
  options.train.steps = 10;
  if (stage.starts_with("hybrid")) options.mesh.replicate = 2;
  return options;
}

constexpr std::array<const char*, 7> kStages{
    "ddp", "ddp:flat", "zero1", "zero2", "zero3", "SHARD_GRAD_OP", "hybrid:zero3"};

void for_each_run(const std::function<void(const RunOptions&, const comm::Group&)>& body) {
  for (const char* stage : kStages) {
    for (const char* preset : {"gpt2-tiny", "llama-tiny"}) {
      SCOPED_TRACE(fmt::format("{} {}", stage, preset));
      const int ranks = std::string_view(stage).starts_with("hybrid") ? 6 : 3;
      sheaf::testing::on_ranks(
          sheaf::testing::Way::shared_threads, ranks, [&](const comm::Group& world) {
            body(small_run(preset, stage, ranks), world);
          });
    }
  }
}

TEST(PlannedParameters, AreThoseOfTheModel) {
  for (const std::string& preset : models::preset_names()) {
    const models::Shape shape = models::resolve({.preset = preset});
    const auto architecture = train::architecture_of(shape);
    if (!architecture) continue;
    const auto model = deferred([&] { return models::build_shape(shape); });
    const auto built = model->named_parameters();
    const auto planned = parameters_of(*architecture);
    ASSERT_EQ(planned.size(), built.size()) << preset;
    for (std::size_t i = 0; i < planned.size(); ++i) {
      EXPECT_EQ(planned[i].name, built[i].key());
      EXPECT_EQ(planned[i].numel, built[i].value().numel()) << planned[i].name;
    }
  }
}

TEST(PlannedStates, AreThoseOfTheLedgerToTheByte) {
  for_each_run([](RunOptions options, const comm::Group& world) {
    for (const auto compute : {train::Compute::fp32, train::Compute::bf16}) {
      options.precision.compute = compute;
      Steps steps(options, world);
      steps.take();
      const auto run = train::planned_run(options, world.size());
      const memory::ByPurpose states = predict_states(run->model, run->setting);
      for (const Purpose purpose : {Purpose::parameters, Purpose::gradients, Purpose::optimizer}) {
        EXPECT_EQ(steps.ledger().current(purpose), states[purpose]) << name(purpose);
      }
    }
  });
}

TEST(PlannedExchanges, TakeTheMemoryThatTheLedgerSays) {
  for_each_run([](const RunOptions& options, const comm::Group& world) {
    Steps steps(options, world);
    for (int i = 0; i < 3; ++i) steps.take();
    const auto run = train::planned_run(options, world.size());
    const Prediction prediction = predict_memory(run->model, run->setting);
    for (const Purpose purpose : {Purpose::gathered, Purpose::communication}) {
      EXPECT_EQ(steps.ledger().peak(purpose), prediction.highest[purpose]) << name(purpose);
    }
  });
}

TEST(PlannedTraffic, IsWhatAStepSends) {
  for_each_run([](const RunOptions& options, const comm::Group& world) {
    Steps steps(options, world);
    steps.take();
    steps.take();
    const comm::Traffic before = steps.traffic();
    steps.take();
    const comm::Traffic sent = steps.traffic() - before;
    const auto run = train::planned_run(options, world.size());
    const std::map<Collective, comm::Tally> tallies{
        {Collective::all_gather, sent.of(comm::Kind::all_gather, comm::Purpose::parameters)},
        {Collective::reduce_scatter, sent.of(comm::Kind::reduce_scatter, comm::Purpose::gradients)},
        {Collective::all_reduce, sent.of(comm::Kind::all_reduce, comm::Purpose::gradients)}};
    for (const Exchange& exchange : traffic_of(run->model, run->setting)) {
      if (exchange.ranks != run->setting.shard) continue;  // between copies: another group
      const comm::Tally& tally = tallies.at(exchange.collective);
      EXPECT_EQ(tally.calls, exchange.calls) << name(exchange.collective);
      EXPECT_EQ(tally.bytes, exchange.bytes) << name(exchange.collective);
    }
  });
}

}  // namespace
}  // namespace sheaf::plan
