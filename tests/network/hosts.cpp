#include "network/hosts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "security/ports.h"
#include "support/run_command.h"

namespace sheaf::testing {
namespace {

void run(const std::string& command) {
  const auto result = run_command({"bash", "-c", command});
  if (result.exit_code != 0) throw std::runtime_error(command + ": " + describe(result));
}

pid_t spawn(const std::vector<std::string>& words, const std::string& out, const std::string& err) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

void end(pid_t pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace

std::optional<std::string> why_no_hosts() {
  if (::geteuid() != 0) return "only root can simulate hosts";
  const auto tried =
      run_command({"unshare",
                   "--net",
                   "bash",
                   "-c",
                   "ip link add bridge0 type bridge && ip link add cable0 type veth"});
  if (tried.exit_code == 0) return std::nullopt;
  return "hosts cannot be simulated here (iproute2, veth, bridge): " + tried.err;
}

HostProgram::HostProgram(pid_t host, const std::string& command)
    : pid_(spawn({"nsenter",
                  "--target",
                  std::to_string(host),
                  "--net",
                  "--uts",
                  "--pid",
                  "--mount",
                  "bash",
                  "-c",
                  command},
                 folder_.path("out"),
                 folder_.path("err"))) {}

HostProgram::~HostProgram() { end(pid_); }

bool HostProgram::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

int HostProgram::wait() {
  if (pid_ > 0) ::waitpid(pid_, &status_, 0);
  pid_ = -1;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

Hosts::Hosts(int count) {
  // This process becomes the place where the cables meet.
  if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("no network of its own");
  run("ip link add bridge0 type bridge && ip link set bridge0 up");
  for (int host = 0; host < count; ++host) add_host(host);
}

void Hosts::add_host(int host) {
  Holder holder;
  holder.outer = spawn({"unshare",
                        "--net",
                        "--uts",
                        "--pid",
                        "--mount-proc",
                        "--fork",
                        "--kill-child",
                        "sleep",
                        "infinity"},
                       "/dev/null",
                       "/dev/null");
  // The second of the family is the first process of the host, once it runs what it is to run.
  const auto is_up = [&] {
    const auto family = family_of(holder.outer);
    if (family.size() < 2) return false;
    holder.inner = family[1];
    return run_command({"grep", "-q", "sleep", fmt::format("/proc/{}/comm", holder.inner)})
               .exit_code == 0;
  };
  while (!is_up()) std::this_thread::yield();
  holders_.push_back(holder);
  run(
      fmt::format("ip link add cable{0} type veth peer name eth0 netns {1} && "
                  "ip link set cable{0} master bridge0 up",
                  host,
                  holder.inner));
  HostProgram setup(
      holder.inner,
      fmt::format("hostname {} && ip addr add {}/24 dev eth0 && ip link set eth0 up && "
                  "ip link set lo up",
                  name(host),
                  address(host)));
  if (setup.wait() != 0) throw std::runtime_error(setup.err());
}

Hosts::~Hosts() {
  for (const Holder& holder : holders_) end(holder.outer);
}

std::unique_ptr<HostProgram> Hosts::start(int host, const std::string& command) const {
  return std::make_unique<HostProgram>(holders_[static_cast<std::size_t>(host)].inner, command);
}

void Hosts::cut(int host) const { run(fmt::format("ip link set cable{} down", host)); }

void Hosts::slow_down(int host, const std::string& rate) const {
  run(fmt::format(
      "tc qdisc add dev cable{} root tbf rate {} burst 16kb latency 500ms", host, rate));
}

}  // namespace sheaf::testing
