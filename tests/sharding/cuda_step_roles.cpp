#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include "gpu/gpu_watch.h"
#include "sharding/cuda_roles.h"
#include "sharding/tower.h"
#include "sharding/trials.h"
#include "sheaf/module/forward.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

// Parameters are nearly all that counts: a block has 4 MiB of them, its activations take 16 KiB.
const TowerOptions kTower{.blocks = 8, .width = 1024, .direct = true};
constexpr std::int64_t kRows = 4;
// What is not on the ledger at a peak: what the pass keeps for backward, two rows of numbers for
// each block and sample, and what one layer has at hand.
constexpr std::int64_t kActivations = (2 * 8 + 8) * kRows * 1024 * 4;
constexpr int kFirstSteps = 100;
constexpr int kAllSteps = 2000;

/// A tower in training on a GPU.
class Climb {
 public:
  Climb(const RoleContext& context, ShardOptions options)
      : model_(std::make_shared<Tower>(kTower)),
        state_(on_device(context, std::move(options))),
        optimizer_(state_.slots(), {.learning_rate = 1e-4}),
        input_(at::ones({kRows, kTower.width}, context.device)) {}

  void step() {
    sheaf::forward(*model_, input_).backward();
    state_.clip_gradients(1.0);
    optimizer_.step();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  [[nodiscard]] memory::Ledger ledger() const { return state_.ledger(); }

 private:
  sharding::State on_device(const RoleContext& context, ShardOptions options) {
    options.device = context.device;
    options.ledger = {};
    // Exchanges go block by block also where buckets are formed by size.
    options.buckets = {.cap = mebibytes(4), .first_cap = mebibytes(4)};
    return shard(*model_, options);
  }

  std::shared_ptr<Tower> model_;
  sharding::State state_;
  optim::AdamW optimizer_;
  at::Tensor input_;
};

GpuMemory settled_memory() {
  finish_gpu_work();
  return gpu_memory_now();
}

void check_growth(const RoleContext& context, const Strategy& strategy) {
  Climb climb(context, over(strategy, context.world));
  climb.steps(kFirstSteps);
  const GpuMemory before = settled_memory();
  climb.steps(kAllSteps - kFirstSteps);
  const GpuMemory after = settled_memory();
  context.report.check("memory after 2,000 steps, " + strategy.name, [&] {
    require(after.allocated == before.allocated && after.reserved == before.reserved,
            fmt::format("allocated {} and reserved {} bytes became {} and {}",
                        before.allocated,
                        before.reserved,
                        after.allocated,
                        after.reserved));
  });
}

/// What is on no ledger and stays, such as workspaces of cuBLAS, is taken out.
void check_peak(const RoleContext& context, const Strategy& strategy) {
  Climb climb(context, over(strategy, context.world));
  climb.steps(3);
  memory::Ledger ledger = climb.ledger();
  const std::int64_t besides = settled_memory().requested - ledger.current().count;
  ledger.reset_peaks();
  reset_gpu_peak();
  climb.step();
  const std::int64_t peak = settled_memory().peak_requested - besides;
  context.report.check("peak, " + strategy.name, [&] {
    const std::int64_t unknown = peak - ledger.peak().count;
    require(unknown >= 0 && unknown <= kActivations,
            fmt::format("the allocator's peak is {} bytes, the ledger's {}: {} more",
                        peak,
                        ledger.peak().count,
                        unknown));
  });
}

/// Tells whether the watch notices who waits.
void check_watch(const RoleContext& context) {
  const at::Tensor value = at::ones({1}, context.device);
  bool noticed = false;
  try {
    const NoHostWaiting watch;
    static_cast<void>(value.item());
  } catch (const std::exception&) {
    noticed = true;
  }
  context.report.check("the watch notices who waits", [&] { require(noticed, "it did not"); });
}

}  // namespace

void long_run_role(const RoleContext& context) {
  for (const Strategy& strategy : stages()) {
    check_peak(context, strategy);
    const bool runs_long = strategy.name == "ddp" || strategy.name == "zero3, boundary";
    if (runs_long) check_growth(context, strategy);
  }
}

void no_waiting_role(const RoleContext& context) {
  check_watch(context);
  for (const Strategy& strategy : stages()) {
    Climb climb(context, over(strategy, context.world));
    climb.steps(3);
    std::string trouble;
    try {
      const NoHostWaiting watch;
      // What is thrown at the end of a backward pass is told by the next.
      climb.steps(2);
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    context.report.check("no waiting, " + strategy.name,
                         [&] { require(trouble.empty(), trouble); });
  }
}

}  // namespace sheaf::testing
