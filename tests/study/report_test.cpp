#include "study/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/report/blocks.h"
#include "study/report/sections.h"

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

TEST(GainsSection, SaysWhichRunFailedAndWhy) {
  const Json data = Json::parse(R"({"start": {"items": "tokens"}, "gains": [
    {"name": "start", "meaning": "m", "items_per_second": 50.0, "mfu": 0.2,
     "memory": {"measured": 1048576}},
    {"name": "batch", "meaning": "m", "ending": "failed", "reason": "no room on the disk"},
    {"name": "overlap", "meaning": "m", "items_per_second": 100.0, "mfu": 0.45,
     "memory": {"measured": 1048576}}]})");
  const Json rows = gains_section(data)["blocks"][1]["rows"];
  ASSERT_EQ(rows.size(), 3);
  EXPECT_THAT(rows[1][1].get<std::string>(), HasSubstr("failed: no room on the disk"));
  EXPECT_TRUE(rows[1][2].is_null());
  // What follows stands beside the last run that finished.
  EXPECT_EQ(rows[2][3], 100.0);
  EXPECT_EQ(rows[2][6], "very good");
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
