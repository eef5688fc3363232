#include "launch/endpoint.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

#include "launch/file_descriptor.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// Takes the brackets off an IPv6 address; without them its colons would hide the port.
std::string_view parse_host(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    return text.substr(1, text.size() - 2);
  }
  return text.find_first_of(":[] ") == std::string_view::npos ? text : "";
}

bool can_connect(const addrinfo& address, std::chrono::milliseconds timeout) {
  const FileDescriptor socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return false;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd entry{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&entry, 1, static_cast<int>(timeout.count())) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

Endpoint parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto port = parse_port(text.substr(colon + 1));
    const auto host = parse_host(text.substr(0, colon));
    if (port.has_value() && !host.empty()) return {std::string(host), *port};
  }
  throw UsageError("the endpoint must be HOST:PORT with a port from 1 to 65535, not '" +
                   std::string(text) + "'");
}

std::string to_string(const Endpoint& endpoint) {
  const bool bare = endpoint.host.find(':') == std::string::npos;
  return (bare ? endpoint.host : "[" + endpoint.host + "]") + ":" + std::to_string(endpoint.port);
}

bool is_listening(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto port = std::to_string(endpoint.port);
  if (::getaddrinfo(endpoint.host.c_str(), port.c_str(), &wanted, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const auto* address = found; address != nullptr; address = address->ai_next) {
    if (can_connect(*address, timeout)) return true;
  }
  return false;
}

}  // namespace sheaf::launch
