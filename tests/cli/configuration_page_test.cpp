#include "cli/configuration_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "fake_command.h"

namespace sheaf::cli {
namespace {

using testing::HasSubstr;

TEST(ConfigurationPage, HasOneRowPerField) {
  const std::string page = run_fake({"help", "configuration"}).out;
  EXPECT_THAT(page, HasSubstr("| key | type | default | allowed | meaning |\n"));
  EXPECT_THAT(page, HasSubstr("| `ranks` | integer | `2` | at least 1 | processes |\n"));
  EXPECT_THAT(page, HasSubstr("| `device` | text | `\"cpu\"` | cpu or cuda | where it runs |\n"));
  EXPECT_THAT(page, HasSubstr("## `[job.retry]`"));
}

TEST(ConfigurationPage, NamesASharedSectionOnceWithAllItsCommands) {
  const std::string page = run_fake({"help", "configuration"}).out;
  const auto first = page.find("## `[job]`\n\nTaken by `sheaf launch`, `sheaf train`.\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page.find("## `[job]`", first + 1), std::string::npos);
  EXPECT_EQ(page.find("`ranks`", page.find("`ranks`") + 1), std::string::npos);
}

TEST(ConfigurationPage, IsWhatTheDocumentationHolds) {
  std::ifstream file(SHEAF_SOURCE_DIR "/docs/configuration.md");
  ASSERT_TRUE(file) << "run: build/sheaf help configuration > docs/configuration.md";
  const std::string stored(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(stored, configuration_page())
      << "run: build/sheaf help configuration > docs/configuration.md";
}

}  // namespace
}  // namespace sheaf::cli
