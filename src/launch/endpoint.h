#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::launch {

/// Where the store of a job is reached.
struct Endpoint {
  std::string host = "127.0.0.1";
  /// 0, where the store is hosted, takes a free port.
  std::uint16_t port = 0;
};

/// Reads `HOST:PORT` or `[ADDRESS]:PORT`. Throws UsageError that names the text.
[[nodiscard]] Endpoint parse_endpoint(std::string_view text);
/// Returns the same form that parse_endpoint reads.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);
/// Tries once, for that long, whether anybody listens there.
[[nodiscard]] bool is_listening(const Endpoint& endpoint, std::chrono::milliseconds timeout);

}  // namespace sheaf::launch
