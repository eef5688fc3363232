#include "study/watch/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::study {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestHead = 8192;
constexpr std::size_t kMostConnections = 64;
constexpr std::chrono::seconds kPatience{5};
constexpr int kTickMs = 200;

void send_all(int socket, const std::string& text) {
  const auto until = Clock::now() + kPatience;
  std::size_t sent = 0;
  while (sent < text.size() && Clock::now() < until) {
    const ssize_t size = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    // Whoever does not read in time gets no more.
    if (size <= 0) return;
    sent += static_cast<std::size_t>(size);
  }
}

}  // namespace

/// A socket, and what it has said so far.
struct Server::Connection {
  explicit Connection(int accepted) : socket(accepted), until(Clock::now() + kPatience) {}
  ~Connection() {
    if (socket >= 0) ::close(socket);
  }
  Connection(Connection&& other) noexcept
      : socket(std::exchange(other.socket, -1)), head(std::move(other.head)), until(other.until) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket, other.socket);
    std::swap(head, other.head);
    std::swap(until, other.until);
    return *this;
  }

  int socket;
  std::string head;
  Clock::time_point until;
};

Server::Server(ServerOptions options) : options_(std::move(options)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options_.port));
  if (::inet_pton(AF_INET, options_.address.c_str(), &address.sin_addr) != 1) {
    throw UsageError(
        fmt::format("--bind needs an IPv4 address such as 127.0.0.1, got '{}'", options_.address));
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    const std::string why = std::strerror(errno);
    ::close(listener_);
    throw IoError(fmt::format("cannot listen on {} port {}: {}; --port 0 takes any that is free",
                              options_.address,
                              options_.port,
                              why));
  }
  port_ = ntohs(address.sin_port);
}

Server::~Server() { ::close(listener_); }

void Server::accept_one(std::vector<Connection>& connections) const {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return;
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  Connection connection(socket);
  if (connections.size() < kMostConnections) connections.push_back(std::move(connection));
}

Response Server::respond(const std::string& head, const Answer& answer) const {
  const auto request = parse_request(head);
  if (!request) return {.status = 400, .body = "this is no request of HTTP/1.1\n"};
  if (!is_own_host(request->host, options_.address)) {
    return {.status = 403, .body = "this page is for localhost only\n"};
  }
  if (request->method != "GET") return {.status = 405, .body = "only GET is possible\n"};
  return answer(*request);
}

bool Server::serve(Connection& connection, const Answer& answer) const {
  std::array<char, 4096> buffer;
  const ssize_t size = ::recv(connection.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (size > 0) connection.head.append(buffer.data(), static_cast<std::size_t>(size));
  const auto end = connection.head.find("\r\n\r\n");
  if (end == std::string::npos) return connection.head.size() <= kLongestHead;
  send_all(connection.socket, wire_text(respond(connection.head.substr(0, end + 2), answer)));
  return false;
}

void Server::run(const Answer& answer, const std::function<bool()>& stop) {
  std::vector<Connection> connections;
  while (!stop()) {
    std::vector<pollfd> entries{{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Connection& each : connections) {
      entries.push_back({.fd = each.socket, .events = POLLIN, .revents = 0});
    }
    const int ready = ::poll(entries.data(), entries.size(), kTickMs);
    std::vector<Connection> kept;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const bool speaks = ready > 0 && entries[i + 1].revents != 0;
      const bool goes_on =
          (!speaks || serve(connections[i], answer)) && Clock::now() < connections[i].until;
      if (goes_on) kept.push_back(std::move(connections[i]));
    }
    connections = std::move(kept);
    if (ready > 0 && entries[0].revents != 0) accept_one(connections);
  }
}

}  // namespace sheaf::study
