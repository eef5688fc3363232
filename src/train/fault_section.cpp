#include "sheaf/train/fault_section.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"
#include "sheaf/sharding/strategy.h"
#include "sheaf/train/options.h"
#include "train/injected_fault.h"

namespace sheaf::train {
namespace {

void check_rollback(const RunOptions& options) {
  const FaultSection& fault = options.fault;
  const bool goes_back = fault.nonfinite == OnBadNumbers::rollback ||
                         fault.spike == OnBadNumbers::rollback ||
                         fault.out_of_sync == OnOutOfSync::rollback;
  if (!goes_back || (!options.checkpoint.dir.empty() && options.checkpoint.every > 0)) return;
  throw UsageError(
      "a rollback needs checkpoints to go back to: set checkpoint.dir and checkpoint.every");
}

void check_sync(const RunOptions& options, int ranks) {
  if (options.fault.sync_every == 0) return;
  const sharding::Strategy strategy = sharding::parse_strategy(options.shard.stage);
  const bool has_copies = strategy.stage != Stage::zero3 || options.mesh.replicate > 1;
  if (ranks > 1 && has_copies) return;
  throw UsageError(
      fmt::format("fault.sync_every compares copies of the weights, and {} has none: take ddp, "
                  "zero1, zero2 or a hybrid strategy",
                  ranks == 1 ? "one rank" : options.shard.stage));
}

}  // namespace

void check_faults(const RunOptions& options, int ranks) {
  for (const std::string& text : options.fault.inject) {
    const InjectedFault fault = parse_fault(text);
    if (fault.rank >= ranks) {
      throw UsageError(
          fmt::format("fault.inject: there are {} ranks, counted from 0, got \"{}\"", ranks, text));
    }
  }
  check_rollback(options);
  check_sync(options, ranks);
}

}  // namespace sheaf::train
