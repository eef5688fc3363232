#include "make_step.h"

#include <algorithm>
#include <string>

#include "graph_obstacle.h"
#include "model_source.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::train {

bool is_guarded(const RunOptions& options) {
  const FaultSection& fault = options.fault;
  return options.comm.device == comm::DeviceKind::cpu || fault.spike_factor > 0 ||
         fault.nonfinite != OnBadNumbers::stop;
}

bool records_steps(const RunOptions& options, const comm::Group& world, const Hooks& hooks) {
  const bool on_cpu = options.comm.device == comm::DeviceKind::cpu;
  const bool wanted = options.train.graph == GraphUse::on;
  if (options.train.graph == GraphUse::off || (on_cpu && !wanted)) return false;
  const models::Shape shape = shape_of(options);
  const auto obstacle =
      graph_obstacle(options,
                     {.backend = world.backend(),
                      .dropout = std::max(shape.dropout, shape.attention_dropout),
                      .has_drill = hooks.drill != nullptr || !options.fault.inject.empty(),
                      .labels_memory = hooks.labels_memory,
                      .has_scaler = options.precision.compute == Compute::fp16,
                      .is_guarded = is_guarded(options)});
  if (!obstacle) return true;
  if (wanted) throw UsageError("train.graph = on is not possible here: " + *obstacle);
  if (world.rank() == 0) log::info("train", "steps do not become a CUDA graph: " + *obstacle);
  return false;
}

std::shared_ptr<StepGraph> make_graph(const RunOptions& options,
                                      const Assembly& parts,
                                      bool records_steps) {
  if (!records_steps) return nullptr;
  return std::make_shared<StepGraph>(StepGraphOptions{.device = parts.device,
                                                      .group = parts.mesh.world(),
                                                      .optimizer = parts.optimizer,
                                                      .global_batch = options.batch.global});
}

TrainStep make_step(const RunOptions& options,
                    const Assembly& parts,
                    const Hooks& hooks,
                    const StepWatchers& watchers) {
  const auto slots = parts.optimizer->slots();
  return {{.model = parts.model,
           .state = parts.state,
           .optimizer = parts.optimizer,
           .group = parts.mesh.world(),
           .scaler = parts.scaler,
           .stop_signal = hooks.stop_signal,
           .before_update =
               [checkpointer = watchers.checkpointer] {
                 if (checkpointer) checkpointer->before_update();
               },
           .gradients_ready = watchers.drill ? [drill = watchers.drill,
                                                slots] { drill->disturb_gradients(*slots); }
                                             : std::function<void()>(),
           .approve = is_guarded(options)
                          ? [guard = watchers.guard](
                                const StepNumbers& numbers) { return guard->approve(numbers); }
                          : std::function<bool(const StepNumbers&)>(),
           .graph = watchers.graph},
          {.schedule = parts.plan.schedule,
           .micro_batch = parts.plan.micro_batch,
           .clip = options.optimizer.clip,
           .in_backward = options.optimizer.in_backward,
           .check_gradients = options.fault.nonfinite != OnBadNumbers::stop,
           .seed = static_cast<std::uint64_t>(options.train.seed),
           .traced = options.profile.replays ? std::nullopt : recorded_steps(options.profile)}};
}

}  // namespace sheaf::train
