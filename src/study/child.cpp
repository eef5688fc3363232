#include "study/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/signal_name.h"
#include "sheaf/base/error.h"
#include "sheaf/train/interruption.h"

namespace sheaf::study {
namespace {

using Clock = std::chrono::steady_clock;

// What a shell says of a program that is not there.
constexpr int kNotFound = 127;
// How often a signal is looked for while a program is silent.
constexpr int kTickMs = 100;
// How long a program may take to end: ranks finish their step before.
constexpr std::chrono::seconds kPatience{15};

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

/// A program that has been started, until its end.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) {
      throw IoError(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
    }
    if (pid_ == 0) become(arguments.data(), out_.writer(), err_.writer(), parent);
    out_.close_writer();
    err_.close_writer();
  }

  [[nodiscard]] bool is_silent() const { return out_.reader() < 0 && err_.reader() < 0; }
  void signal(int number) const { ::kill(pid_, number); }

  /// Reads what comes within a moment.
  void read_more(ChildResult& result) {
    // poll() passes over entries without a file.
    std::array<pollfd, 2> entries{pollfd{.fd = out_.reader(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = err_.reader(), .events = POLLIN, .revents = 0}};
    if (::poll(entries.data(), entries.size(), kTickMs) <= 0) return;
    if (entries[0].revents != 0) out_.read_into(result.out);
    if (entries[1].revents != 0) err_.read_into(result.err);
  }

  /// Waits for its end and returns the exit code, 128+n if signal n ended it.
  int wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  Pipe out_;
  Pipe err_;
  pid_t pid_ = -1;
};

/// Asks it to end, which a launcher passes on to its ranks, and ends it if that takes too long.
void stop(Child& child) {
  child.signal(SIGTERM);
  const auto until = Clock::now() + kPatience;
  for (ChildResult ignored; !child.is_silent() && Clock::now() < until;) child.read_more(ignored);
  child.signal(SIGKILL);
  child.wait();
}

}  // namespace

Interrupted::Interrupted(int signal)
    : Error(fmt::format("ended by {}", signal_name(signal))), signal_(signal) {}

ChildResult run_child(const std::vector<std::string>& command) {
  const train::InterruptionWatch watch;
  if (watch.requested()) throw Interrupted(*watch.requested());
  Child child(command);
  ChildResult result;
  while (!child.is_silent() && !watch.requested()) child.read_more(result);
  if (watch.requested()) {
    stop(child);
    throw Interrupted(*watch.requested());
  }
  result.exit_code = child.wait();
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
