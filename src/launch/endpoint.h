#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/store/secret.h"

namespace sheaf::launch {

/// Where the store of a job is reached, and by whom.
struct Endpoint {
  std::string host = "127.0.0.1";
  /// 0, where the store is hosted, takes a free port.
  std::uint16_t port = 0;
  /// Who does not know it is refused; none: nobody is.
  comm::store::Secret secret{};
  /// Whose machine has not been heard of for that long counts as gone.
  std::chrono::milliseconds silence{15'000};
};

/// Reads `HOST:PORT` or `[ADDRESS]:PORT`. Throws UsageError that names the text.
[[nodiscard]] Endpoint parse_endpoint(std::string_view text);
/// Returns the same form that parse_endpoint reads: where it is, not the secret.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);
/// Tries once, for that long, whether anybody listens there.
[[nodiscard]] bool is_listening(const Endpoint& endpoint, std::chrono::milliseconds timeout);

}  // namespace sheaf::launch
