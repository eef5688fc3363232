#include "cli/doctor/backend_checks.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>

#include "cli/doctor/read_text.h"
#include "comm/environment.h"
#include "sheaf/base/error.h"

namespace sheaf::cli::doctor {
namespace {

constexpr int kNumRanks = 2;
constexpr std::int64_t kNumel = 1024;
// Long enough for a machine under load, short enough for somebody who waits.
constexpr Seconds kTimeout{30};
// For what hangs all the same.
constexpr Seconds kDeadline{60};

comm::RunRanksOptions using_backend(comm::BackendKind backend) {
  const bool on_gpu = backend == comm::BackendKind::one_gpu;
  return {.backend = backend,
          .device = on_gpu ? comm::DeviceKind::cuda : comm::DeviceKind::cpu,
          .timeout = kTimeout};
}

/// Adds up 1 on the first rank, 2 on the second and so on, and checks the sum.
void check_sum(const comm::Group& group) {
  const at::Tensor tensor = group.shared_empty(kNumel, at::kFloat).fill_(group.rank() + 1);
  group.all_reduce(tensor).wait();
  const double expected = 0.5 * group.size() * (group.size() + 1);
  const double low = tensor.min().item<double>();
  const double high = tensor.max().item<double>();
  if (low == expected && high == expected) return;
  throw CommError(fmt::format(
      "the sum over {} ranks must be {}, got {} to {}", group.size(), expected, low, high));
}

/// Runs `attempt` on a thread of its own, which is left behind if it hangs.
void run_until_deadline(const std::function<void()>& attempt) {
  std::packaged_task<void()> task(attempt);
  std::future<void> result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(kDeadline) != std::future_status::ready) {
    thread.detach();
    throw CommError(fmt::format("no answer within {}", to_string(kDeadline)));
  }
  thread.join();
  result.get();
}

// Returns the first line, without the place in somebody else's source that gloo puts in front.
std::string plain_message(std::string_view text) {
  std::string message = first_line(text);
  const auto start = message.find("[enforce fail at ");
  if (start == std::string::npos) return message;
  return message.erase(start, message.find("] ", start) + 2 - start);
}

std::string gloo_advice() {
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr) {
    return fmt::format(
        "unset GLOO_SOCKET_IFNAME or name an interface that 'ip addr' lists; it is '{}'",
        interface);
  }
  return "gloo starts threads and connects them over TCP at 127.0.0.1: see with 'ip addr show lo' "
         "that it is up, and with 'ulimit -a' that threads and memory are not limited";
}

std::string failure_of(const comm::RankOutcome& outcome) {
  if (outcome.signal != 0) return fmt::format("killed: {}", strsignal(outcome.signal));
  return outcome.exit_code == 0 ? "" : outcome.error;
}

void throw_if_failed(const std::string& failure) {
  if (!failure.empty()) throw CommError(failure);
}

/// Ends this process with its parent, should it hang; the parent does not wait for ever.
void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

// In a child: where LibTorch's gloo cannot start a thread it hangs or aborts.
void try_threads(comm::BackendKind backend) {
  const auto in_child = [backend](const comm::Group& /*group*/) {
    end_with_parent();
    comm::run_ranks(kNumRanks, check_sum, using_backend(backend));
  };
  const auto outcomes = comm::run_ranks_forked(1, in_child, using_backend(comm::BackendKind::fake));
  throw_if_failed(failure_of(outcomes.front()));
}

void try_processes(comm::BackendKind backend) {
  const auto in_child = [](const comm::Group& group) {
    end_with_parent();
    check_sum(group);
  };
  throw_if_failed(
      first_failure(comm::run_ranks_forked(kNumRanks, in_child, using_backend(backend))));
}

void try_nccl() {
  const comm::Group group = comm::init({.backend = comm::BackendKind::nccl,
                                        .device = comm::DeviceKind::cuda,
                                        .join_timeout = kTimeout,
                                        .timeout = kTimeout});
  check_sum(group);
}

// Variables that make no sense count as none here: comm::init says what is wrong with them.
int ranks_of_environment() {
  try {
    return comm::read_environment(comm::process_variable).size;
  } catch (const UsageError&) {
    return 1;
  }
}

Check not_tried(const std::string& name, const std::string& reason) {
  return {.name = name, .value = "not tried: " + reason, .status = Status::note};
}

Check nccl_not_tried(const std::string& reason) { return not_tried("backend nccl", reason); }

}  // namespace

std::string first_failure(std::span<const comm::RankOutcome> outcomes) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const std::string failure = failure_of(outcomes[rank]);
    if (!failure.empty()) return fmt::format("rank {}: {}", rank, failure);
  }
  return "";
}

Check try_backend(const Trial& trial, const std::function<void()>& attempt) {
  const auto start = std::chrono::steady_clock::now();
  try {
    run_until_deadline(attempt);
  } catch (const std::exception& error) {
    return {.name = trial.name,
            .value = plain_message(error.what()),
            .status = Status::wrong,
            .advice = trial.advice};
  }
  const Seconds elapsed = std::chrono::steady_clock::now() - start;
  return {.name = trial.name,
          .value = fmt::format("works, tried with {} in {}", trial.ranks, to_string(elapsed))};
}

Check gloo_check() {
  return try_backend({.name = "backend gloo", .ranks = "2 threads", .advice = gloo_advice()},
                     [] { try_threads(comm::BackendKind::gloo); });
}

Check shared_by_threads_check() {
  const Trial trial{.name = "backend shared, threads",
                    .ranks = "2 threads",
                    .advice =
                        "it needs memory and threads and nothing else: see the limits that "
                        "'ulimit -a' lists"};
  return try_backend(trial, [] { try_threads(comm::BackendKind::shared); });
}

Check shared_by_processes_check() {
  const Trial trial{.name = "backend shared, processes",
                    .ranks = "2 processes",
                    .advice =
                        "ranks share memory through memfd_create and /proc/PID/fd: have the "
                        "container or its security profile allow both, or use the backend "
                        "gloo"};
  return try_backend(trial, [] { try_processes(comm::BackendKind::shared); });
}

Check one_gpu_check(bool built_with_cuda, int num_gpus) {
  const Trial trial{.name = "backend one_gpu",
                    .ranks = "2 processes",
                    .advice =
                        "ranks open each other's GPU memory through CUDA IPC: have the container "
                        "share the host's IPC and PID namespaces, or use the backend gloo"};
  if (!built_with_cuda) return not_tried(trial.name, "this sheaf was built without CUDA");
  if (num_gpus == 0) return not_tried(trial.name, "there is no CUDA device");
  if (num_gpus > 1) {
    return not_tried(trial.name, fmt::format("it is for one GPU, and here are {}", num_gpus));
  }
  return try_backend(trial, [] { try_processes(comm::BackendKind::one_gpu); });
}

Check nccl_check(const comm::CudaDevices& devices) {
  if (!devices.built_in) return nccl_not_tried("this sheaf was built without CUDA");
  if (devices.devices.empty()) return nccl_not_tried("there is no CUDA device");
  const int num_ranks = ranks_of_environment();
  if (num_ranks > 1) {
    return nccl_not_tried(
        fmt::format("the environment says that this is one of {} ranks", num_ranks));
  }
  const Trial trial{.name = "backend nccl",
                    .ranks = "1 rank on cuda:0",
                    .advice = "run sheaf doctor with NCCL_DEBUG=INFO to see what NCCL says"};
  return try_backend(trial, [] { try_nccl(); });
}

Check fake_check() {
  const Trial trial{.name = "backend fake",
                    .ranks = "1 of 2 ranks",
                    .advice = "it needs nothing from the machine: please report this"};
  return try_backend(trial, [] {
    const comm::Group group = comm::fake_group(kNumRanks);
    group.all_reduce(group.shared_empty(kNumel, at::kFloat).zero_()).wait();
  });
}

}  // namespace sheaf::cli::doctor
