#include "peers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <fstream>

namespace sheaf::comm {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_target(const char* path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(path, target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

Identity Identity::own() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {
      .host = host.data(),
      .pid_space = first_line("/proc/sys/kernel/random/boot_id") + link_target("/proc/self/ns/pid"),
      .pid = getpid()};
}

std::string Identity::str() const { return fmt::format("{}\n{}\n{}", host, pid_space, pid); }

std::string Identity::describe(int world_rank) const {
  return fmt::format("rank {} (pid {} on {})", world_rank, pid, host);
}

Identity Identity::parse(const std::string& text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = text.find('\n', first + 1);
  return {.host = text.substr(0, first),
          .pid_space = text.substr(first + 1, second - first - 1),
          .pid = static_cast<pid_t>(std::stol(text.substr(second + 1)))};
}

Peers::Peers(std::vector<Identity> identities)
    : identities_(std::move(identities)),
      handles_(identities_.size(), -1),
      ended_(identities_.size()) {
  const Identity own = Identity::own();
  for (std::size_t i = 0; i < identities_.size(); ++i) {
    const Identity& peer = identities_[i];
    if (peer.pid_space != own.pid_space || peer.pid == own.pid) continue;
    handles_[i] = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
    ended_[i] = handles_[i] < 0 && errno == ESRCH;
  }
}

Peers::Peers(int num_threads)
    : identities_(static_cast<std::size_t>(num_threads)),
      handles_(identities_.size(), -1),
      ended_(identities_.size()) {}

Peers::~Peers() {
  for (const int handle : handles_) {
    if (handle >= 0) close(handle);
  }
}

bool Peers::one_host() const {
  for (const Identity& peer : identities_) {
    if (peer.pid_space != identities_.front().pid_space) return false;
  }
  return true;
}

void Peers::set_ended(int world_rank) { ended_[static_cast<std::size_t>(world_rank)] = true; }

std::optional<int> Peers::find_ended(const std::vector<int>& world_ranks,
                                     std::chrono::milliseconds patience) const {
  // A process handle becomes readable when its process ends; negative ones are ignored.
  std::vector<pollfd> looks;
  for (const int rank : world_ranks) {
    const auto i = static_cast<std::size_t>(rank);
    if (ended_[i]) return rank;
    looks.push_back({.fd = handles_[i], .events = POLLIN, .revents = 0});
  }
  poll(looks.data(), looks.size(), static_cast<int>(patience.count()));
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (looks[i].revents != 0) return world_ranks[i];
  }
  return std::nullopt;
}

std::string Peers::describe(int world_rank) const {
  const Identity& peer = identities_[static_cast<std::size_t>(world_rank)];
  return peer.pid == 0 ? fmt::format("rank {}", world_rank) : peer.describe(world_rank);
}

}  // namespace sheaf::comm
