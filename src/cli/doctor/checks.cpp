#include "cli/doctor/checks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/doctor/backend_checks.h"
#include "cli/doctor/build_checks.h"
#include "cli/doctor/system_checks.h"
#include "comm/devices.h"
#include "launch/gpus.h"

namespace sheaf::cli::doctor {
namespace {

void append(std::vector<Check>& checks, std::vector<Check> more) {
  std::ranges::move(more, std::back_inserter(checks));
}

}  // namespace

std::vector<Check> run_checks() {
  // First, because they fork, and what comes after them starts CUDA.
  std::vector<Check> backends = {gloo_check(),
                                 shared_by_threads_check(),
                                 shared_by_processes_check(),
                                 fake_check(),
                                 one_gpu_check(comm::built_with_cuda(), launch::count_gpus())};
  const comm::CudaDevices devices = comm::find_cuda_devices();
  backends.push_back(nccl_check(devices));
  std::vector<Check> checks = build_checks(devices);
  append(checks, std::move(backends));
  append(checks, system_checks());
  return checks;
}

bool is_healthy(std::span<const Check> checks) {
  return std::ranges::find(checks, Status::wrong, &Check::status) == checks.end();
}

}  // namespace sheaf::cli::doctor
