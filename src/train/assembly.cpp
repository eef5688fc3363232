#include "assembly.h"

#include <fmt/format.h>

#include "export.h"
#include "model_source.h"
#include "sharding/agreement.h"
#include "sheaf/module/deferred.h"
#include "sheaf/train/parallelize.h"

namespace sheaf::train {
namespace {

/// What all ranks must have in common; where files are may differ from host to host.
std::vector<std::string> describe_for_peers(RunOptions options,
                                            const data::Data& data,
                                            const RunPlan& plan) {
  options.log = {};
  options.data.path = "";
  options.data.paths = {};
  options.data.tokenizer = "";
  options.model.from = "";
  options.train.export_to = "";
  std::vector<std::string> lines;
  for (const Field& field : fields_of(options)) {
    lines.push_back(fmt::format("{} = {}", field.path(), field.literal()));
  }
  const auto size = [](const auto& dataset) { return dataset ? dataset->size() : 0; };
  lines.push_back(fmt::format("{} samples for training", size(data.training)));
  lines.push_back(fmt::format("{} samples for evaluation", size(data.evaluation)));
  for (const data::DataPart& part : data.training->parts()) {
    lines.push_back(fmt::format("a part of {} samples for training", part.size));
  }
  lines.push_back(fmt::format("tokenizer {:016x}", data.tokenizer ? data.tokenizer->hash() : 0));
  lines.push_back(fmt::format("{} steps", plan.steps));
  return lines;
}

}  // namespace

Assembly assemble(const RunOptions& options, const comm::Group& world) {
  check_options(options, world.size());
  const models::Shape shape = shape_of(options);
  check_export(options, shape);
  data::Data data = open_data(options);
  const RunPlan plan = plan_run(options, *data.training, world.size());
  sharding::check_agreement(world, describe_for_peers(options, data, plan), "runs");
  comm::Mesh mesh = make_mesh(options.mesh, world);
  auto model = deferred([&] { return models::build_shape(shape); });
  sharding::State state = parallelize(*model, options, mesh);
  std::shared_ptr<optim::Optimizer> optimizer = make_optimizer(options.optimizer, state);
  std::shared_ptr<sharding::LossScaler> scaler;
  if (options.precision.compute == Compute::fp16) {
    scaler = std::make_shared<sharding::LossScaler>(state, options.precision.scaler);
  }
  return {.device = device_of(options.comm),
          .shape = shape,
          .data = std::move(data),
          .plan = plan,
          .mesh = std::move(mesh),
          .model = std::move(model),
          .state = std::move(state),
          .optimizer = std::move(optimizer),
          .scaler = std::move(scaler)};
}

}  // namespace sheaf::train
