#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/doctor/checks.h"
#include "comm/devices.h"
#include "sheaf/comm/run_ranks.h"

namespace sheaf::cli::doctor {

/// Each adds up a small tensor over the ranks of a new group. Those that start threads do it
/// in a forked child.
[[nodiscard]] Check gloo_check();
[[nodiscard]] Check shared_by_threads_check();
[[nodiscard]] Check shared_by_processes_check();
[[nodiscard]] Check fake_check();
/// Tries two processes on a machine's only GPU; a note says why where it cannot be tried. To be
/// called before this process starts CUDA.
[[nodiscard]] Check one_gpu_check(bool built_with_cuda, int num_gpus);
/// Tries one rank on the first device; a note says why where it cannot be tried.
[[nodiscard]] Check nccl_check(const comm::CudaDevices& devices);

/// A backend to try.
struct Trial {
  std::string name;
  /// Who takes part, such as "2 threads".
  std::string ranks;
  /// What to do if it fails.
  std::string advice;
};

/// Runs `attempt` and times it; what it throws makes the check wrong, and so does a minute without
/// an end. `attempt` must not refer to anything that ends before it does.
[[nodiscard]] Check try_backend(const Trial& trial, const std::function<void()>& attempt);

/// Returns what the first rank that failed says, or how it was killed; empty if none failed.
[[nodiscard]] std::string first_failure(std::span<const comm::RankOutcome> outcomes);

}  // namespace sheaf::cli::doctor
