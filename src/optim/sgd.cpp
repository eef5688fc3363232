#include "sheaf/optim/sgd.h"

#include <fmt/format.h>

#include "checks.h"
#include "elements_of.h"
#include "kernels/cpu.h"
#include "kernels/cuda.h"
#include "kernels/stream.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {
namespace {

OptimizerSetup checked_setup(const SgdOptions& options) {
  check_not_negative("learning_rate of SGD", options.learning_rate);
  check_not_negative("momentum of SGD", options.momentum);
  check_not_negative("dampening of SGD", options.dampening);
  check_not_negative("weight_decay of SGD", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    throw UsageError(
        fmt::format("nesterov of SGD needs momentum and no dampening, got momentum {} and "
                    "dampening {}",
                    options.momentum,
                    options.dampening));
  }
  OptimizerSetup setup{.settings = {options.learning_rate, options.weight_decay},
                       .rules = options.rules,
                       .moments = options.moments};
  if (options.momentum != 0) setup.state_names = {"momentum_buffer"};
  return setup;
}

SgdFactors<double> factors_of(const Run& run, const SgdOptions& options) {
  // The first gradient goes whole into the buffer.
  const bool is_first = run.step == 1;
  return {.learning_rate = run.learning_rate,
          .gradient_decay = run.weight_decay,
          .keep = is_first ? 0 : options.momentum,
          .take = is_first ? 1 : 1 - options.dampening,
          .look_ahead = options.nesterov ? options.momentum : 0};
}

}  // namespace

Sgd::Sgd(Slots slots, const SgdOptions& options)
    : Optimizer(std::move(slots), checked_setup(options)), options_(options) {}

void Sgd::update(std::span<const Run> runs) {
  std::vector<CudaRun<SgdFactors<double>>> on_gpu;
  for (const Run& run : runs) {
    const auto factors = factors_of(run, options_);
    if (run.master.is_cpu()) {
      sgd_on_cpu(elements_of(run), factors);
    } else {
      on_gpu.push_back({elements_of(run), factors, recorded_numbers_of(run)});
    }
  }
  if (on_gpu.empty()) return;
  with_stream_of(runs.front().master, [&](void* stream) { sgd_on_cuda(on_gpu, stream); });
}

std::vector<double> Sgd::numbers(const Run& run) const { return listed(factors_of(run, options_)); }

}  // namespace sheaf::optim
