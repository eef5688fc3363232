#include "launch/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/signal_name.h"
#include "launch/signal_inbox.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

[[noreturn]] void fail(const std::string& what) {
  throw IoError(what + ": " + std::strerror(errno));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe for a rank");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What the child needs between fork and exec, prepared before: other threads of the launcher may
// have held any lock at the fork, so the child only makes system calls.
struct ChildPlan {
  const char* path;
  char** arguments;
  char** environment;
  const sigset_t* mask;
  pid_t launcher;
  int in;
  int out;  // -1: keep the launcher's
  int err;
  int inherited;  // -1: none
  int report;
};

[[noreturn]] void give_up(const ChildPlan& plan) {
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(plan.report, &error, sizeof(error));
  ::_exit(127);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(plan);
  // The launcher may have died before the line above; then nobody sends that signal.
  if (::getppid() != plan.launcher) ::_exit(127);
  if (::dup2(plan.in, STDIN_FILENO) < 0) give_up(plan);
  if (plan.out >= 0) {
    if (::dup2(plan.out, STDOUT_FILENO) < 0 || ::dup2(plan.err, STDERR_FILENO) < 0) give_up(plan);
  } else {
    // Outside the terminal's foreground group now, and still meant to write to it.
    ::signal(SIGTTOU, SIG_IGN);
  }
  if (plan.inherited >= 0 && ::fcntl(plan.inherited, F_SETFD, 0) != 0) give_up(plan);
  ::sigprocmask(SIG_SETMASK, plan.mask, nullptr);
  ::execve(plan.path, plan.arguments, plan.environment);
  give_up(plan);
}

// Waits until the child runs its program. Returns 0, or the error number it gave up with.
int read_report(Pipe& report) {
  report.writer.close();
  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(report.reader.get(), &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : 0;
}

RankExit describe_exit(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return {info.si_status, 0, "exited with code " + std::to_string(info.si_status)};
  }
  const int number = info.si_status;
  const std::string core = info.si_code == CLD_DUMPED ? ", core dumped" : "";
  return {
      128 + number,
      number,
      "was killed by signal " + std::to_string(number) + " (" + signal_name(number) + ")" + core};
}

}  // namespace

RankProcess::RankProcess(const RankProgram& program) {
  auto arguments = pointers_to(program.arguments);
  auto environment = pointers_to(program.environment);
  Pipe report = make_pipe();
  Pipe out = program.piped ? make_pipe() : Pipe{};
  Pipe err = program.piped ? make_pipe() : Pipe{};
  const FileDescriptor in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) fail("cannot open /dev/null");
  const ChildPlan plan{.path = program.path.c_str(),
                       .arguments = arguments.data(),
                       .environment = environment.data(),
                       .mask = &program.mask,
                       .launcher = ::getpid(),
                       .in = in.get(),
                       .out = out.writer.get(),
                       .err = err.writer.get(),
                       .inherited = program.inherited,
                       .report = report.writer.get()};
  pid_ = ::fork();
  if (pid_ == 0) run_child(plan);
  if (pid_ < 0) fail("cannot start a rank process");
  const int error = read_report(report);
  if (error != 0) {
    ::waitpid(pid_, nullptr, 0);
    throw UsageError(std::string("cannot execute the program (") + std::strerror(error) +
                     "): " + program.path);
  }
  pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_.is_open()) {
    const int reason = errno;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    errno = reason;
    fail("cannot watch a rank process (pidfd_open, Linux 5.3 or later)");
  }
  stdout_ = std::move(out.reader);
  stderr_ = std::move(err.reader);
  for (const auto* pipe : {&stdout_, &stderr_}) {
    if (pipe->is_open()) ::fcntl(pipe->get(), F_SETFL, O_NONBLOCK);
  }
}

RankProcess::~RankProcess() {
  if (!pidfd_.is_open()) return;
  if (!poll_exit().has_value()) send_to_group(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

const std::optional<RankExit>& RankProcess::poll_exit() {
  siginfo_t info{};
  // WNOWAIT: the process stays a zombie, which keeps its id and its group's from being reused.
  if (!exit_.has_value() &&
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_) {
    exit_ = describe_exit(info);
  }
  return exit_;
}

void RankProcess::send(int signal) const { ::kill(pid_, signal); }

void RankProcess::send_to_group(int signal) const { ::kill(-pid_, signal); }

}  // namespace sheaf::launch
