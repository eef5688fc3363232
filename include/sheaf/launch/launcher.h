#pragma once

#include <array>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

/// What becomes of the ranks' output. Every line also goes to the log folder, where there is one.
enum class Output {
  /// Every line is prefixed with its rank: `[3] text`.
  prefixed,
  /// Rank 0 inherits stdout and stderr and so still sees the terminal (with a log folder its lines
  /// pass through a pipe, without a prefix); the others are prefixed.
  first_rank_plain,
};

/// Whether the ranks of a node use its GPUs through NVIDIA's MPS, by a daemon of their own: ranks
/// that share a GPU then run side by side instead of in turns. `automatic`: where there are GPUs,
/// but fewer than ranks, and MPS is installed. Ranks that were given MPS already
/// (CUDA_MPS_PIPE_DIRECTORY) keep that.
enum class Mps { automatic, on, off };

constexpr auto enum_names(Mps) {
  return std::array{
      EnumName{"auto", Mps::automatic}, EnumName{"on", Mps::on}, EnumName{"off", Mps::off}};
}

/// What a rank exits with that was asked to leave (by SIGTERM or SIGUSR1, as schedulers do) and has
/// saved what it needs to go on: start it again. EX_TEMPFAIL of sysexits.h.
inline constexpr int kRequeueCode = 75;

/// What is started on this node, and how it may end. (Each field has an initializer, so that GCC
/// lets callers leave it out without a warning.)
struct LaunchOptions {
  /// Ranks on this node.
  int ranks = 1;
  int nodes = 1;
  /// Which node this is, from 0; node 0 hosts the store.
  int node_rank = 0;
  /// HOST:PORT of node 0. Empty, on one node only: a free port on 127.0.0.1.
  std::string endpoint{};
  /// File with what all nodes know and strangers do not, for its owner only (mode 600). One node
  /// makes a secret of its own; several need the file, or `no_secret`.
  std::string secret_file{};
  /// Lets whoever reaches the endpoint join.
  bool no_secret = false;
  /// Another node that has not been heard of for that long counts as gone.
  Seconds node_timeout{15.0};
  /// Folder for one rank_<rank>.log per rank, appended to; empty: none.
  std::string log_dir{};
  /// The program, looked up in PATH, and its arguments.
  std::vector<std::string> command{};
  Output output = Output::prefixed;
  Mps mps = Mps::automatic;
  /// The run's own folder, for the pipe and the log of MPS; empty: `log_dir`, or else a temporary
  /// one.
  std::string run_dir{};
  /// Times that all ranks are started again after one has failed. Not after wrong usage (exit code
  /// 2), after kRequeueCode, and after a signal to the launcher.
  int max_restarts = 0;
  /// Failures in a row without a new step (see Progress) after which the job is given up; 0: none.
  int max_fruitless = 3;
  /// Ranks, of all nodes, with which the job may go on when others cannot; 0: it needs all.
  int min_ranks = 0;
  /// File that holds how many ranks this node has, at most `ranks`; when it is written anew, ranks
  /// are asked to end and as many as it says go on. Empty: none.
  std::string ranks_file{};
  /// From SIGTERM to SIGKILL for the other ranks, once one has failed.
  Seconds failure_grace{3.0};
  /// From a forwarded SIGINT, SIGTERM or SIGHUP to SIGKILL.
  Seconds signal_grace{30.0};
};

/// Starts the ranks with torchrun's variables, passes on their output and waits until all have
/// ended, for good: a failed run is started again as the options say. Returns 0, or what the first
/// failing rank exited with (128+n for signal n), or 128+n after a forwarded signal n, or
/// kRequeueCode where ranks left with it or SIGTERM or SIGUSR1 came between two generations. Throws
/// UsageError or IoError where they cannot be started; none is left running then.
///
/// SIGINT, SIGTERM and SIGHUP go to the ranks and what they have started, SIGUSR1 and SIGUSR2 to
/// the ranks alone.
///
/// Blocks the signals it forwards in the calling thread and puts the mask back; call it before
/// other threads are started, so that no other thread takes them.
[[nodiscard]] int launch(const LaunchOptions& options);

}  // namespace sheaf::launch
