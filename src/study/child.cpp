#include "study/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "sheaf/base/error.h"

namespace sheaf::study {
namespace {

// What a shell says of a program that is not there.
constexpr int kNotFound = 127;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw IoError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() { close_end(1); }
  /// Appends what is there, and closes the pipe at its end.
  void read_into(std::string& text) {
    std::array<char, 65536> buffer;
    const ssize_t size = ::read(reader(), buffer.data(), buffer.size());
    if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) close_end(0);
  }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

/// Between fork and exec only calls that a process with threads may make.
[[noreturn]] void become(char** arguments, int out, int err, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNotFound);
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(none, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  ::_exit(kNotFound);
}

void read_all(Pipe& out, Pipe& err, ChildResult& result) {
  while (out.reader() >= 0 || err.reader() >= 0) {
    // poll() passes over entries without a file.
    std::array<pollfd, 2> entries{pollfd{.fd = out.reader(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = err.reader(), .events = POLLIN, .revents = 0}};
    if (::poll(entries.data(), entries.size(), -1) <= 0) continue;
    if (entries[0].revents != 0) out.read_into(result.out);
    if (entries[1].revents != 0) err.read_into(result.err);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command) {
  Pipe out;
  Pipe err;
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw IoError(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  if (pid == 0) become(arguments.data(), out.writer(), err.writer(), parent);
  out.close_writer();
  err.close_writer();
  ChildResult result;
  read_all(out, err, result);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (result.exit_code == kNotFound && result.err.empty()) {
    throw IoError(fmt::format("cannot start {}: is it there, and a program?", command[0]));
  }
  return result;
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "";
  const auto before = text.rfind('\n', end);
  const auto begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  // A program that was rebuilt meanwhile has no path any more, but can still be started again.
  return !error && std::filesystem::exists(path, error) ? path.string() : "/proc/self/exe";
}

}  // namespace sheaf::study
