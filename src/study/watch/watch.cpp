#include "study/watch/watch.h"

#include <fmt/format.h>

#include <charconv>

#include "study/embedded.h"
#include "study/report/page.h"

namespace sheaf::study {
namespace {

/// Reads the number of `since=N`; 0 for anything else.
std::int64_t since_of(const std::string& query) {
  constexpr std::string_view kKey = "since=";
  std::int64_t since = 0;
  if (query.starts_with(kKey)) {
    std::from_chars(query.data() + kKey.size(), query.data() + query.size(), since);
  }
  return since;
}

}  // namespace

WatchSite::WatchSite(const std::filesystem::path& folder)
    : page_(page(fmt::format("<script>{}</script>\n", watch_js()))), run_(folder) {}

Response WatchSite::answer(const Request& request) {
  if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = page_};
  if (request.path == "/metrics") {
    const Json lines = run_.since(since_of(request.query));
    return {.type = "application/json",
            .body = lines.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }
  return {.status = 404, .body = "there is only / and /metrics\n"};
}

}  // namespace sheaf::study
