#include "gloo_door.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>

#include "sheaf/base/log.h"

namespace sheaf::comm {
namespace {

bool is_listening(int fd) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

// Returns the sockets of this process that listen, in order.
std::vector<int> listening_sockets() {
  std::vector<int> sockets;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (is_listening(fd)) sockets.push_back(fd);
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

bool drop_all(int fd) {
  sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

GlooDoor::GlooDoor(const std::function<void()>& open) {
  // Ranks that are threads of one process open theirs one after the other.
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  const auto before = listening_sockets();
  open();
  const auto after = listening_sockets();
  std::set_difference(
      after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(sockets_));
}

void GlooDoor::lock() const {
  const bool all = std::all_of(sockets_.begin(), sockets_.end(), drop_all);
  if (all && !sockets_.empty()) return;
  log::warning("comm", "gloo's port stays open to strangers: the system does not let it be locked");
}

}  // namespace sheaf::comm
