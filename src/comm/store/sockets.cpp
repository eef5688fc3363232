#include "sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const Address& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto port = std::to_string(address.port);
  if (::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address);
  return ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

// Whether somebody wrote it to mean this machine only.
bool means_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

FileDescriptor listen_on(const sockaddr* address, socklen_t size) {
  FileDescriptor socket(
      ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  const int yes = 1;
  const int no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (address->sa_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  }
  const bool listens =
      ::bind(socket.get(), address, size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : FileDescriptor();
}

FileDescriptor listen_on_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return listen_on(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

// Over IPv6 and IPv4 where there are both.
FileDescriptor listen_everywhere(std::uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_any;
  auto socket = listen_on(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (socket.is_open() || errno == EADDRINUSE || errno == EACCES) return socket;
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  return listen_on(reinterpret_cast<const sockaddr*>(&ipv4), sizeof(ipv4));
}

// Not open, and errno says why, where the host is no address of this machine.
FileDescriptor listen_on_interface(const Address& address) {
  errno = EADDRNOTAVAIL;
  const auto found = resolve(address);
  for (const auto* each = found.get(); each != nullptr; each = each->ai_next) {
    errno = EADDRNOTAVAIL;
    if (is_loopback(each->ai_addr) && !means_loopback(address.host)) continue;
    auto socket = listen_on(each->ai_addr, each->ai_addrlen);
    if (socket.is_open() || errno == EADDRINUSE || errno == EACCES) return socket;
  }
  return {};
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

bool finish_connecting(const FileDescriptor& socket, std::chrono::milliseconds timeout) {
  pollfd entry{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&entry, 1, static_cast<int>(timeout.count())) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// Returns host and port in figures.
std::pair<std::string, std::string> numeric(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address),
                size,
                host.data(),
                host.size(),
                port.data(),
                port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host.data(), port.data()};
}

}  // namespace

std::string to_string(const Address& address) {
  const bool bare = address.host.find(':') == std::string::npos;
  return fmt::format(fmt::runtime(bare ? "{}:{}" : "[{}]:{}"), address.host, address.port);
}

Listener listen_at(const Address& address, Reach reach) {
  Listener listener{.socket = {}, .address = address};
  if (reach == Reach::this_machine) {
    listener.address.host = "127.0.0.1";
    listener.socket = listen_on_loopback(address.port);
  } else {
    listener.socket = listen_on_interface(address);
    if (!listener.socket.is_open() && errno == EADDRNOTAVAIL) {
      listener.everywhere = true;
      listener.address.host = "127.0.0.1";
      listener.socket = listen_everywhere(address.port);
    }
  }
  if (!listener.socket.is_open()) {
    throw UsageError(
        fmt::format("cannot listen on port {} ({}); choose another port for the endpoint: {}",
                    address.port,
                    std::strerror(errno),
                    to_string(address)));
  }
  listener.address.port = port_of(listener.socket);
  return listener;
}

FileDescriptor connect_to(const Address& address, std::chrono::milliseconds timeout) {
  const auto found = resolve(address);
  for (const auto* each = found.get(); each != nullptr; each = each->ai_next) {
    FileDescriptor socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) continue;
    const bool is_there = ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0;
    if (is_there || (errno == EINPROGRESS && finish_connecting(socket, timeout))) return socket;
  }
  return {};
}

void break_after_silence(const FileDescriptor& socket, std::chrono::milliseconds silence) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket.get(), level, name, &value, sizeof(value));
  };
  // A quiet connection is probed from a third of that time on; TCP_USER_TIMEOUT ends it then.
  const int second = std::max(1, static_cast<int>(silence.count() / 3000));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, second);
  set(IPPROTO_TCP, TCP_KEEPINTVL, second);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
}

void keep_descriptors_free(const FileDescriptor& newest) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  // The system gives out the lowest number that is free.
  if (static_cast<rlim_t>(newest.get()) < limit.rlim_cur / 2) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string own_host_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return numeric(address, size).first;
}

std::string peer_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "a machine that is gone already";
  }
  const auto [host, port] = numeric(address, size);
  return fmt::format("{}:{}", host, port);
}

}  // namespace sheaf::comm::store
