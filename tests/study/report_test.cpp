#include "study/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/report/blocks.h"

namespace sheaf::study {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json small_report(const std::string& text) {
  const Json rows = {{text, 1234.5678, nullptr, true}, {"b", -0.5, 2.0, false}};
  const Json columns = {words("name"),
                        numbers("speed", "per second", 1),
                        numbers("peak", "MiB", 0),
                        words("in sync")};
  return {{"title", "T"},
          {"lead", "L"},
          {"verdict", "V"},
          {"figures", Json::array()},
          {"sections",
           Json::array({section({.id = "s", .title = "S", .shortened = "S", .text = "words"},
                                Json::array({table({.title = "A table"}, columns, rows)}))})},
          {"footer", "F"}};
}

TEST(ReportMarkdown, WritesNumbersWithTheirUnits) {
  const std::string text = report_markdown(small_report("a"));
  EXPECT_THAT(text, HasSubstr("| name | speed, per second | peak, MiB | in sync |"));
  EXPECT_THAT(text, HasSubstr("| a | 1,234.6 | – | yes |"));
  EXPECT_THAT(text, HasSubstr("| b | -0.5 | 2 | NO |"));
}

TEST(ReportMarkdown, KeepsBarsInsideCells) {
  EXPECT_THAT(report_markdown(small_report("a|b")), HasSubstr("a\\|b"));
}

TEST(ReportHtml, CarriesAllThatItNeeds) {
  const std::string html = report_html(small_report("a"));
  EXPECT_THAT(html, HasSubstr("Chart.js v"));
  EXPECT_THAT(html, HasSubstr("MIT"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(ReportHtml, DoesNotLetTextsEndTheScript) {
  const std::string html = report_html(small_report("</script><script>alert(1)</script><!--"));
  EXPECT_THAT(html, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
}

}  // namespace
}  // namespace sheaf::study
