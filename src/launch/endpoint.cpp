#include "launch/endpoint.h"

#include <charconv>
#include <optional>

#include "comm/store/sockets.h"
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

}  // namespace

Endpoint parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto port = parse_port(text.substr(colon + 1));
    const auto host = parse_host(text.substr(0, colon));
    if (port.has_value() && !host.empty()) return {.host = std::string(host), .port = *port};
  }
  throw UsageError("the endpoint must be HOST:PORT with a port from 1 to 65535, not '" +
                   std::string(text) + "'");
}

std::string to_string(const Endpoint& endpoint) {
  return comm::store::to_string({endpoint.host, endpoint.port});
}

bool is_listening(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  return comm::store::connect_to({endpoint.host, endpoint.port}, timeout).is_open();
}

}  // namespace sheaf::launch
