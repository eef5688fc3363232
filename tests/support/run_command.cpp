#include "support/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

#include "sheaf/base/error.h"

namespace sheaf::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw IoError(std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  int read_end = -1;
  int write_end = -1;
};

pid_t spawn(const std::vector<std::string>& command, const Pipe& out, const Pipe& err) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError("cannot start " + command[0] + ": " + std::strerror(error));
  return pid;
}

// Appends what is there, and closes the pipe at its end.
void read_some(Pipe& pipe, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t size = ::read(pipe.read_end, buffer.data(), buffer.size());
  if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
  if (size == 0 || (size < 0 && errno != EINTR)) Pipe::close_end(pipe.read_end);
}

// Reads both pipes to their ends; returns false if that lasts longer than `limit`.
bool read_all(Pipe& out, Pipe& err, Clock::time_point limit, CommandResult& result) {
  while (out.read_end >= 0 || err.read_end >= 0) {
    // poll() passes over entries without a file.
    std::array<pollfd, 2> entries{pollfd{.fd = out.read_end, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = err.read_end, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(entries.data(), entries.size(), static_cast<int>(left.count())) <= 0) continue;
    if (entries[0].revents != 0) read_some(out, result.out);
    if (entries[1].revents != 0) read_some(err, result.err);
  }
  return true;
}

int wait_for_exit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& command, Seconds deadline) {
  Pipe out;
  Pipe err;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline);
  const pid_t pid = spawn(command, out, err);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);
  CommandResult result;
  result.timed_out = !read_all(out, err, limit, result);
  if (result.timed_out) ::kill(-pid, SIGKILL);
  result.exit_code = wait_for_exit(pid);
  return result;
}

std::string describe(const CommandResult& result) {
  return std::string(result.timed_out ? "killed after its deadline" : "ended") + ", exit code " +
         std::to_string(result.exit_code) + "\nstdout:\n" + result.out + "stderr:\n" + result.err;
}

}  // namespace sheaf::testing
