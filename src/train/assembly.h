#pragma once

#include <memory>

#include "sheaf/comm/mesh.h"
#include "sheaf/data/dataset.h"
#include "sheaf/models/model.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/sharding/loss_scaler.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/options.h"
#include "sheaf/train/plan.h"
#include "sheaf/train/record.h"

namespace sheaf::train {

/// The parts of a run, put together.
struct Assembly {
  at::Device device;
  models::Shape shape;
  data::Data data;
  RunPlan plan;
  comm::Mesh mesh;
  std::shared_ptr<models::Model> model;
  sharding::State state;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<sharding::LossScaler> scaler;
};

/// Opens the data, builds the model without memory, cuts it over the ranks and gives it an
/// optimizer. Every rank must call it.
[[nodiscard]] Assembly assemble(const RunOptions& options, const comm::Group& world);

/// Says what is known before the first step; on the CPU all ranks measure their peak at the same
/// time. Every rank must call it.
[[nodiscard]] RunInfo describe_run(const RunOptions& options, const Assembly& parts);

/// Returns every rank's memory, in rank order. Every rank must call it.
[[nodiscard]] std::vector<MemoryUse> gather_memory(const MemoryUse& own,
                                                   const comm::Group& group,
                                                   at::Device device);

}  // namespace sheaf::train
