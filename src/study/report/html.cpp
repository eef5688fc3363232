#include <fmt/format.h>

#include "study/embedded.h"
#include "study/report/page.h"
#include "study/report/report.h"

namespace sheaf::study {
namespace {

/// JSON inside a script element must not end it.
std::string inside_script(std::string text) {
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) {
    text.insert(at + 1, "\\");
  }
  for (std::size_t at = 0; (at = text.find("<!", at)) != std::string::npos; at += 6) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

}  // namespace

std::string report_html(const Json& report) {
  const std::string json = report.dump(-1, ' ', false, Json::error_handler_t::replace);
  return page(fmt::format(
      "<script type=\"application/json\" id=\"report\">{}</script>\n"
      "<script>sheaf.page(JSON.parse(document.getElementById(\"report\").textContent));</script>\n",
      inside_script(json)));
}

std::string page(const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>sheaf</title>\n<style>{}</style>\n"
      "<script>{}</script>\n<script>{}</script>\n</head>\n<body>\n{}</body>\n</html>\n",
      page_css(),
      chart_js(),
      page_js(),
      body);
}

}  // namespace sheaf::study
