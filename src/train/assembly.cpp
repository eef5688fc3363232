#include "assembly.h"

#include "sheaf/module/deferred.h"
#include "sheaf/train/parallelize.h"

namespace sheaf::train {

Assembly assemble(const RunOptions& options, const comm::Group& world) {
  check(options, world.size());
  const models::Shape shape = models::resolve(options.model);
  data::Data data = open_data(options);
  const RunPlan plan = plan_run(options, *data.training, world.size());
  comm::Mesh mesh = make_mesh(options.mesh, world);
  auto model = deferred([&] { return models::build(options.model); });
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
