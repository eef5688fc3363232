#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/file_descriptor.h"

namespace sheaf::launch {

/// Everything one rank process is started with.
struct RankProgram {
  /// The file to execute; argv[0] may be another name for it.
  std::string path;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  /// stdout and stderr go through pipes; else they are this process's own.
  bool piped = true;
  /// A descriptor that the rank inherits; -1: none.
  int inherited = -1;
  /// Signals the rank starts with blocked.
  sigset_t mask;
};

/// How a rank ended.
struct RankExit {
  /// As a shell tells it: the exit code, or 128+n for signal n.
  int code = 0;
  /// 0 unless a signal ended it.
  int signal = 0;
  /// The end of the sentence "rank 2 (pid 4242) ...".
  std::string how;
};

/// A child process in a process group of its own, which dies with the thread that started it.
/// Where it has not ended before, the destructor kills the whole group. Its process id stays
/// reserved until the destructor, so that signals never reach a stranger.
class RankProcess {
 public:
  /// Starts the process. Throws UsageError if the file cannot be executed, IoError for the rest.
  explicit RankProcess(const RankProgram& program);
  ~RankProcess();
  RankProcess(RankProcess&& other) noexcept = default;
  RankProcess& operator=(RankProcess&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once the process has ended.
  [[nodiscard]] int exit_fd() const { return pidfd_.get(); }
  /// Hands out the reading ends of the pipes, once; they do not block.
  [[nodiscard]] FileDescriptor take_stdout() { return std::move(stdout_); }
  [[nodiscard]] FileDescriptor take_stderr() { return std::move(stderr_); }

  /// Looks, without blocking, whether the process has ended; nothing while it runs.
  const std::optional<RankExit>& poll_exit();
  [[nodiscard]] const std::optional<RankExit>& exit() const { return exit_; }
  /// Sends a signal to the process alone.
  void send(int signal) const;
  /// Sends a signal to the process and all that it has started in its group.
  void send_to_group(int signal) const;

 private:
  pid_t pid_ = -1;
  FileDescriptor pidfd_;  // closed: moved from
  FileDescriptor stdout_;
  FileDescriptor stderr_;
  std::optional<RankExit> exit_;
};

}  // namespace sheaf::launch
