#include "study/watch/watch.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "study/embedded.h"
#include "study/report/page.h"

namespace sheaf::study {
namespace {

/// Reads the number of `key=N` in a query such as `since=12&run=1`; 0 where there is none.
std::int64_t number_in(const std::string& query, std::string_view key) {
  std::int64_t number = 0;
  std::istringstream members(query);
  for (std::string member; std::getline(members, member, '&');) {
    if (!member.starts_with(key) || member[key.size()] != '=') continue;
    std::from_chars(member.data() + key.size() + 1, member.data() + member.size(), number);
  }
  return number;
}

}  // namespace

WatchSite::WatchSite(const std::filesystem::path& folder)
    : page_(page(fmt::format("<script>{}</script>\n", watch_js()))), run_(folder) {}

Response WatchSite::answer(const Request& request) {
  if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = page_};
  if (request.path == "/metrics") {
    const Json lines =
        run_.since(number_in(request.query, "since"), number_in(request.query, "run"));
    return {.type = "application/json",
            .body = lines.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }
  return {.status = 404, .body = "there is only / and /metrics\n"};
}

}  // namespace sheaf::study
