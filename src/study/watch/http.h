#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sheaf::study {

/// What a browser asks for, as far as it matters here.
struct Request {
  std::string method;
  /// Without what follows a question mark, which is `query`.
  std::string path;
  std::string query;
  std::string host;
};

/// Reads the head of a request, up to its empty line. Nothing if it makes no sense.
[[nodiscard]] std::optional<Request> parse_request(std::string_view head);

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

/// Returns the response as it goes over the wire; the connection ends after it.
[[nodiscard]] std::string wire_text(const Response& response);

/// Tells whether a Host header names this machine's own loopback, or `bound`. Any other name may be
/// a page from elsewhere whose name was pointed here.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view bound);

}  // namespace sheaf::study
