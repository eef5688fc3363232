#include "launch/launcher_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

void redirect(const std::string& file, int target) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  ::dup2(fd, target);
  ::close(fd);
}

int run_body(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    log::error("test", error.what());
    return error.exit_code();
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "launch_test_XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::touch(const std::string& name) const { std::ofstream(path_ / name) << "\n"; }

bool TemporaryFolder::has(const std::string& name) const {
  return std::filesystem::exists(path_ / name);
}

std::string TemporaryFolder::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path_ / name).rdbuf();
  return text.str();
}

bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool is_gone(pid_t pid) {
  std::ostringstream status;
  status << std::ifstream("/proc/" + std::to_string(pid) + "/status").rdbuf();
  return status.str().empty() || status.str().find("State:\tZ") != std::string::npos;
}

LaunchOptions bash(int ranks, const std::string& script) {
  return {.ranks = ranks, .command = {"bash", "-c", script}};
}

std::string wait_for(const std::string& file) {
  return "until [ -e '" + file + "' ]; do sleep 0.01; done; ";
}

LauncherProcess::LauncherProcess(const LaunchOptions& options)
    : LauncherProcess([&] { return launch(options); }) {}

LauncherProcess::LauncherProcess(const std::function<int()>& body) {
  folder_.touch("started");
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  redirect(folder_.file("out"), STDOUT_FILENO);
  redirect(folder_.file("err"), STDERR_FILENO);
  ::_exit(run_body(body));
}

LauncherProcess::~LauncherProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void LauncherProcess::send(int signal) const { ::kill(pid_, signal); }

int LauncherProcess::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

LaunchResult run_launcher(const LaunchOptions& options) {
  LauncherProcess launcher(options);
  const int code = launcher.wait();
  return {code, launcher.out(), launcher.err()};
}

}  // namespace sheaf::launch
