#include <fmt/format.h>

#include "gpu/gpu_watch.h"
#include "sheaf/data/loader.h"
#include "sheaf/train/step.h"
#include "support/on_ranks.h"
#include "train/assembly.h"
#include "train/cuda_roles.h"
#include "train/small_runs.h"

namespace sheaf::testing {
namespace {

using train::Compute;
using train::RunOptions;

RunOptions options_of(const std::string& stage, Compute compute) {
  RunOptions options = train::small_run();
  options.comm.device = comm::DeviceKind::cuda;
  options.shard.stage = stage;
  options.precision.compute = compute;
  options.model.dropout = 0.1;
  return options;
}

/// A run whose steps are taken one by one.
class Walk {
 public:
  Walk(const RunOptions& options, const RoleContext& context, double clip)
      : parts_(train::assemble(options, context.world)),
        clock_(context.device, context.world),
        step_({.model = parts_.model,
               .state = parts_.state,
               .optimizer = parts_.optimizer,
               .group = context.world},
              {.micro_batch = 1, .clip = clip, .in_backward = true}),
        loader_(parts_.data.training,
                {.rank = context.world.rank(),
                 .ranks = context.world.size(),
                 .global_batch = options.batch.global,
                 .device = context.device}) {}

  void start() {
    clock_.start();
    step_.start(loader_.next(), number_++, clock_);
  }
  void finish() { static_cast<void>(step_.finish()); }

 private:
  train::Assembly parts_;
  train::PhaseClock clock_;
  train::TrainStep step_;
  data::Loader loader_;
  std::int64_t number_ = 0;
};

void require_no_waiting(Walk& walk) {
  // The first steps make what stays: workspaces, the order of units.
  for (int i = 0; i < 3; ++i) {
    walk.start();
    walk.finish();
  }
  {
    const NoHostWaiting watch;
    // What is thrown at the end of a backward pass is told by the next.
    for (int i = 0; i < 2; ++i) walk.start();
  }
  walk.finish();
}

}  // namespace

void step_role(const RoleContext& context) {
  for (const char* stage : {"ddp", "zero1", "zero2", "zero3"}) {
    for (const Compute compute : {Compute::fp32, Compute::bf16}) {
      // Without clipping parameters are stepped within backward.
      for (const double clip : {1.0, 0.0}) {
        Walk walk(options_of(stage, compute), context, clip);
        context.report.check(fmt::format("a step without waiting, {}, {}, clipped to {}",
                                         stage,
                                         static_cast<int>(compute),
                                         clip),
                             [&] { require_no_waiting(walk); });
      }
    }
  }
}

}  // namespace sheaf::testing
