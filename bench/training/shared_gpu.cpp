#include "shared_gpu.h"

#include <cstdlib>

#include "launch/environment.h"
#include "launch/mps_daemon.h"
#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

Figures with_exchange(CompareOptions options, const Contest& contest, Exchange exchange) {
  options.run.exchange = exchange;
  return run_sheaf(options, contest);
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

SharedGpu::SharedGpu(bool mps) {
  if (!mps) return;
  daemon_ = std::make_unique<launch::MpsDaemon>(
      launch::MpsDaemonOptions{.program = launch::find_program("nvidia-cuda-mps-control")});
  for (const auto& [name, value] : daemon_->variables()) ::setenv(name.c_str(), value.c_str(), 1);
}

SharedGpu::~SharedGpu() {
  if (!daemon_) return;
  for (const auto& [name, value] : daemon_->variables()) ::unsetenv(name.c_str());
}

Outcome measure(const ProgramOptions& options, const Contest& contest, bool mps) {
  Outcome outcome{.contest = contest, .mps = mps};
  for (int i = 0; i < options.compare.repetitions; ++i) {
    outcome.pytorch.push_back(run_pytorch(options.compare, contest));
    outcome.sheaf.push_back(run_sheaf(options.compare, contest));
  }
  if (options.speed_only) return outcome;
  outcome.waited = with_exchange(options.compare, contest, Exchange::waited);
  outcome.compute = with_exchange(options.compare, contest, Exchange::none);
  return outcome;
}

std::string gpu_state() {
  try {
    return trimmed(output_of(
        "nvidia-smi --format=csv,noheader --query-gpu="
        "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw"));
  } catch (const Error&) {
    return "";
  }
}

std::string torch_versions(const std::string& python) {
  return trimmed(output_of(
      python +
      " -c 'import torch; print(\"torch\", torch.__version__, \"CUDA\", torch.version.cuda)'"));
}

}  // namespace sheaf::bench
