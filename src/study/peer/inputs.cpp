#include "study/peer/inputs.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "base/cores.h"
#include "sheaf/base/error.h"
#include "sheaf/data/loader.h"
#include "sheaf/train/plan.h"
#include "study/files.h"
#include "study/trial.h"
#include "train/model_source.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

void write_weights(const train::RunOptions& options,
                   const fs::path& weights,
                   const fs::path& folder) {
  Trial trial{.name = "initial_weights", .options = only_steps(options, 1), .ranks = 1};
  trial.options.optimizer.learning_rate = 0;
  trial.options.train.export_to = weights.string();
  trial.options.mesh = {};
  trial.options.shard.stage = "ddp";
  const TrialResult result = run_trial(trial, folder);
  if (result.ending != Ending::finished) {
    throw Error(fmt::format("cannot write the initial weights: {}", result.reason));
  }
}

void write_rows(std::ofstream& file, const at::Tensor& rows) {
  const at::Tensor values = rows.contiguous();
  file.write(static_cast<const char*>(values.const_data_ptr()),
             static_cast<std::streamsize>(values.nbytes()));
}

void write_batches(const train::RunOptions& options,
                   const data::Data& data,
                   const train::RunPlan& plan,
                   const fs::path& path) {
  data::Loader loader(data.training,
                      {.global_batch = options.batch.global,
                       .partial_batches = plan.partial_batches,
                       .seed = static_cast<std::uint64_t>(options.train.seed),
                       .shuffle = options.data.shuffle,
                       .workers = 0});
  std::ofstream file(path, std::ios::binary);
  for (std::int64_t step = 0; step < plan.steps; ++step) {
    const data::Batch batch = loader.next();
    write_rows(file, batch.inputs);
    write_rows(file, batch.targets);
  }
  if (!file.flush()) throw IoError(fmt::format("cannot write {}", path.string()));
}

Json shape_json(const models::Shape& shape) {
  return {{"layers", shape.layers},
          {"width", shape.width},
          {"heads", shape.heads},
          {"hidden", shape.hidden},
          {"vocabulary", shape.vocabulary},
          {"context", shape.context},
          {"epsilon", shape.epsilon}};
}

std::vector<double> learning_rates(const train::RunOptions& options, const train::RunPlan& plan) {
  std::vector<double> rates;
  for (std::int64_t step = 0; step < plan.steps; ++step) {
    rates.push_back(options.optimizer.learning_rate *
                    optim::learning_rate_factor(plan.schedule, step));
  }
  return rates;
}

}  // namespace

fs::path write_peer_inputs(const train::RunOptions& options, int ranks, const fs::path& folder) {
  make_folder(folder);
  const fs::path weights = folder / "weights";
  fs::remove_all(weights);
  write_weights(options, weights, folder);
  const data::Data data = train::open_data(options);
  const train::RunPlan plan = train::plan_run(options, *data.training, ranks);
  write_batches(options, data, plan, folder / "batches.bin");
  const train::OptimizerSection& optimizer = options.optimizer;
  const Json settings = {{"shape", shape_json(train::shape_of(options))},
                         {"weights", weights.string()},
                         {"batches", (folder / "batches.bin").string()},
                         {"device", enum_name(options.comm.device)},
                         {"cores", usable_cores()},
                         {"steps", plan.steps},
                         {"global", options.batch.global},
                         {"micro", plan.micro_batch},
                         {"length", data.training->targets_per_sample()},
                         {"learning_rates", learning_rates(options, plan)},
                         {"beta1", optimizer.beta1},
                         {"beta2", optimizer.beta2},
                         {"epsilon", optimizer.epsilon},
                         {"weight_decay", optimizer.weight_decay},
                         {"decay_vectors", optimizer.decay_vectors},
                         {"clip", optimizer.clip}};
  const fs::path path = folder / "settings.json";
  replace_file(path, settings.dump(1));
  return path;
}

}  // namespace sheaf::study
