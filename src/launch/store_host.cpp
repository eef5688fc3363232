#include "launch/store_host.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "launch/file_descriptor.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

template <class Address>
bool bind_to(const FileDescriptor& socket, const Address& address) {
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
         ::listen(socket.get(), SOMAXCONN) == 0;
}

// Returns a socket that listens on every interface, over IPv6 and IPv4 where there are both.
FileDescriptor listen_on_network(std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return socket;
  const int no = 0;
  ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_any;
  return bind_to(socket, address) ? std::move(socket) : FileDescriptor();
}

FileDescriptor listen_on_ipv4(std::uint16_t port, in_addr_t interface) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(interface);
  return socket.is_open() && bind_to(socket, address) ? std::move(socket) : FileDescriptor();
}

FileDescriptor listen_on(const Endpoint& endpoint, StoreHost::Reach reach) {
  FileDescriptor socket;
  if (reach == StoreHost::Reach::network) {
    socket = listen_on_network(endpoint.port);
    if (!socket.is_open() && errno != EADDRINUSE && errno != EACCES) {
      socket = listen_on_ipv4(endpoint.port, INADDR_ANY);
    }
  } else {
    socket = listen_on_ipv4(endpoint.port, INADDR_LOOPBACK);
  }
  if (!socket.is_open()) {
    throw UsageError("cannot listen on port " + std::to_string(endpoint.port) + " (" +
                     std::strerror(errno) +
                     "); choose another port for the endpoint: " + to_string(endpoint));
  }
  return socket;
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// Runs `call`, whose c10 errors become CommError with the first line of their message.
template <class Call>
auto reworded(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw CommError("the store does not answer: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace

struct StoreHost::Impl {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

StoreHost StoreHost::serve(const Endpoint& endpoint, Reach reach) {
  auto socket = listen_on(endpoint, reach);
  c10d::TCPStoreOptions options;
  options.port = port_of(socket);
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = socket.release();
  // The store's own client is on this machine, so it need not know the host's public name.
  return reworded([&] {
    return StoreHost(
        std::make_shared<Impl>(Impl{c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options)}));
  });
}

StoreHost StoreHost::connect(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = endpoint.port;
  options.waitWorkers = false;
  options.timeout = timeout;
  return reworded([&] {
    return StoreHost(
        std::make_shared<Impl>(Impl{c10::make_intrusive<c10d::TCPStore>(endpoint.host, options)}));
  });
}

std::uint16_t StoreHost::port() const { return impl_->store->getPort(); }

std::string StoreHost::set_once(const std::string& key, const std::string& value) {
  return replace(key, "", value);
}

std::string StoreHost::replace(const std::string& key,
                               const std::string& expected,
                               const std::string& value) {
  c10d::Store& store = *impl_->store;
  return reworded([&] { return store.compareSet(key, expected, value); });
}

void StoreHost::set(const std::string& key, const std::string& value) {
  c10d::Store& store = *impl_->store;
  reworded([&] { store.set(key, value); });
}

std::optional<std::string> StoreHost::find(const std::string& key) {
  c10d::Store& store = *impl_->store;
  return reworded([&]() -> std::optional<std::string> {
    if (!store.check({key})) return std::nullopt;
    return store.get_to_str(key);
  });
}

}  // namespace sheaf::launch
