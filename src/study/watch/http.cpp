#include "study/watch/http.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sheaf::study {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

/// Takes the part before `end` off the text, and `end` itself.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const auto at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return part;
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Error";
  }
}

/// The host without its port: [::1]:80 is [::1].
std::string_view without_port(std::string_view host) {
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

}  // namespace

std::optional<Request> parse_request(std::string_view head) {
  std::string_view first = take_until(head, "\r\n");
  Request request;
  request.method = take_until(first, " ");
  std::string_view target = take_until(first, " ");
  if (!target.starts_with('/') || !first.starts_with("HTTP/1.")) return std::nullopt;
  request.path = take_until(target, "?");
  request.query = target;
  int hosts = 0;
  while (!head.empty()) {
    std::string_view line = take_until(head, "\r\n");
    const std::string name = lower(take_until(line, ":"));
    if (name != "host") continue;
    request.host = trimmed(line);
    ++hosts;
  }
  if (hosts > 1) return std::nullopt;
  return request;
}

std::string wire_text(const Response& response) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n"
      "Connection: close\r\n\r\n{}",
      response.status,
      reason(response.status),
      response.type,
      response.body.size(),
      response.body);
}

bool is_own_host(std::string_view host, std::string_view bound) {
  const std::string name = lower(without_port(host));
  // Where all interfaces are served, any number is one of them; only names can be pointed
  // elsewhere.
  in_addr parsed{};
  const bool is_number = bound == "0.0.0.0" && ::inet_pton(AF_INET, name.c_str(), &parsed) == 1;
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == bound ||
         is_number;
}

}  // namespace sheaf::study
