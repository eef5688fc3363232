#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::testing {

/// A port on which a process listens.
struct Port {
  pid_t pid = 0;
  /// Of AF_INET or AF_INET6, to connect to.
  sockaddr_storage address{};
  socklen_t size = 0;

  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] std::string str() const;
};

/// Returns the process and all that it and its children have started.
[[nodiscard]] std::vector<pid_t> family_of(pid_t root);

/// Returns the TCP ports on which these processes listen, as the kernel says it (/proc/net/tcp).
[[nodiscard]] std::vector<Port> listening_ports(const std::vector<pid_t>& processes);

}  // namespace sheaf::testing
