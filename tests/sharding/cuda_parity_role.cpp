#include "sharding/cuda_roles.h"
#include "sharding/strategies.h"
#include "sharding/training.h"
#include "sharding/trial_models.h"
#include "sheaf/module/deferred.h"
#include "sheaf/nn/embedding.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

// In fp64, as on the CPU; kernels of the GPU sum in another order.
constexpr double kTolerance = 1e-8;

bool is_plain_stage(const Strategy& strategy) {
  return strategy.name == "ddp" || strategy.name == "ddp:flat" || strategy.name == "zero2";
}

struct Entry {
  Task task;
  /// Which strategies it is trained with; the transformer meets them all.
  bool (*meets)(const Strategy& strategy);
};

std::vector<Entry> entries() {
  return {{gpt_task(), [](const Strategy&) { return true; }},
          {plain_task(),
           [](const Strategy& strategy) {
             return is_plain_stage(strategy) || strategy.name == "zero3, touch";
           }},
          {cnn_task(),
           [](const Strategy& strategy) {
             return is_plain_stage(strategy) || strategy.name == "zero3, boundary";
           }},
          {mlp_task(), is_plain_stage}};
}

Trial moved(const Trial& trial, at::Device device) {
  Trial result = trial;
  result.build = [build = trial.build, device] {
    auto model = build();
    model->to(device);
    return model;
  };
  result.batch = [batch = trial.batch, device](std::int64_t step) {
    const Batch all = batch(step);
    return Batch{all.inputs.to(device), all.targets.to(device)};
  };
  return result;
}

/// The second of three layers does not learn.
struct PartlyFrozen final : Stack {
  PartlyFrozen() {
    second->weight.set_requires_grad(false);
    second->bias.set_requires_grad(false);
  }
};

/// Has a layer that no pass uses.
struct WithIdleLayer final : Stack {
  WithIdleLayer() : idle(register_module("idle", Layer(kFeatures, kFeatures))) {}
  Layer idle;
};

void run_trial(const RoleContext& context,
               const std::string& name,
               const Trial& trial,
               bool find_unused = false) {
  const sharding::NamedTensors expected = train_alone(trial);
  for (const Strategy& strategy : stages()) {
    ShardOptions options = over(strategy, context.world);
    options.find_unused = find_unused;
    const auto actual = train_sharded(moved(trial, context.device), options);
    const std::string what = name + ", " + strategy.name;
    const double tolerance = std::max(kTolerance, trial.tolerance);
    context.report.check(what, [&] { require_close(actual, expected, tolerance, what); });
  }
}

/// One weight, so that it is a unit by itself.
struct TableImpl : torch::nn::Module {
  explicit TableImpl(std::int64_t rows)
      : weight(register_parameter("weight", at::randn({rows, kWidth}))) {}
  static constexpr std::int64_t kWidth = 16;
  at::Tensor weight;
};
TORCH_MODULE(Table);

/// Reads two tables in one kernel, in a type that there is a kernel for.
struct EmbeddedTexts final : TinyModel {
  static constexpr std::int64_t kLength = 5;
  static constexpr std::int64_t kTokens = 11;
  EmbeddedTexts()
      : tokens(register_module("tokens", Table(kTokens))),
        positions(register_module("positions", Table(kLength))),
        hidden(register_module("hidden", Layer(Table::ContainedType::kWidth, 7))),
        head(register_module("head", Layer(7, kClasses))) {}
  at::Tensor loss(const at::Tensor& texts, const at::Tensor& targets) override {
    const at::Tensor x = nn::text_embedding(tokens->weight, positions->weight, texts).mean(1);
    return sum_of_losses(sheaf::forward(*head, sheaf::forward(*hidden, x)), targets);
  }
  Table tokens, positions;
  Layer hidden, head;
};

Trial trial_of_texts() {
  return {.build = [] { return built<EmbeddedTexts>(/*as_is=*/true); },
          .batch =
              [](std::int64_t step) {
                const Batch batch = random_batch(step);
                const at::Tensor texts =
                    batch.inputs.narrow(1, 0, EmbeddedTexts::kLength).mul(100).abs().to(at::kLong);
                return Batch{texts.remainder(EmbeddedTexts::kTokens), batch.targets};
              },
          .tolerance = 1e-5};
}

/// Large enough to be deferred.
struct Deferred final : torch::nn::Module {
  Deferred()
      : up(register_module("up", torch::nn::Linear(300, 400))),
        down(register_module("down", torch::nn::Linear(400, 3))) {}
  torch::nn::Linear up, down;
};

std::shared_ptr<Deferred> deferred_model() {
  return deferred([] { return std::make_shared<Deferred>(); });
}

void run_deferred(const RoleContext& context) {
  constexpr std::uint64_t kSeed = 11;
  const auto whole = deferred_model();
  materialize(*whole, kSeed);
  const sharding::NamedTensors expected = values_of(*whole);
  for (const Strategy& strategy : stages()) {
    ShardOptions options = over(strategy, context.world);
    options.device = context.device;
    options.seed = kSeed;
    const auto model = deferred_model();
    const auto actual = shard(*model, options).gather_full();
    context.report.check("deferred, " + strategy.name, [&] {
      for (const auto& [name, value] : expected) require_equal(actual.at(name), value, name);
    });
  }
}

}  // namespace

void parity_role(const RoleContext& context) {
  for (const Entry& entry : entries()) {
    // A pass has 12 samples, which any number of ranks up to four can share.
    Course course{.steps = 3, .accumulation = 3, .dtype = at::kDouble, .clip = true};
    const Outcome expected = train_alone(entry.task, course);
    course.device = context.device;
    for (const Strategy& strategy : all_strategies(context.world.size())) {
      if (!entry.meets(strategy)) continue;
      const Outcome actual = train_sharded(entry.task, course, over(strategy, context.world));
      const std::string what = entry.task.name + ", " + strategy.name;
      context.report.check(what, [&] { require_close(actual, expected, kTolerance, what); });
    }
  }
}

void trials_role(const RoleContext& context) {
  run_trial(context, "tied", trial_of<TiedSiblings>());
  run_trial(context, "frozen", trial_of<PartlyFrozen>());
  run_trial(context, "texts", trial_of_texts());
  run_trial(context, "unused", trial_of<WithIdleLayer>(), /*find_unused=*/true);
  run_deferred(context);
}

/// Where a kernel read a parameter after its step, or a step read a gradient before its exchange,
/// bits would differ.
void in_backward_role(const RoleContext& context) {
  for (const int accumulation : {1, 3}) {
    Course course{.steps = 10, .accumulation = accumulation, .device = context.device};
    for (const Strategy& strategy : all_strategies(context.world.size())) {
      course.in_backward = false;
      const Outcome after = train_sharded(gpt_task(), course, over(strategy, context.world));
      course.in_backward = true;
      const Outcome within = train_sharded(gpt_task(), course, over(strategy, context.world));
      const std::string what =
          strategy.name + ", " + std::to_string(accumulation) + " passes, stepped within backward";
      context.report.check(what, [&] { require_same_bits(within, after, what); });
    }
  }
}

}  // namespace sheaf::testing
