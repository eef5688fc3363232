#pragma once

#include <memory>

#include "sheaf/comm/mesh.h"
#include "sheaf/models/model.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Returns where a run's tensors live on this rank.
[[nodiscard]] at::Device device_of(const comm::InitOptions& options);

/// Arranges the ranks as the options say. Every rank must call it.
[[nodiscard]] comm::Mesh make_mesh(const MeshOptions& options, const comm::Group& world);

/// Cuts a model over the mesh: the one place where a strategy meets a model. A deferred model gets
/// its values here, on the run's device: those of the run's seed, or those of the folder that
/// `model.from` names, of which every rank reads only its own part.
[[nodiscard]] sharding::State parallelize(models::Model& model,
                                          const RunOptions& options,
                                          const comm::Mesh& mesh);

/// Builds the optimizer that the options name.
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSection& options,
                                                               const sharding::State& state);

}  // namespace sheaf::train
