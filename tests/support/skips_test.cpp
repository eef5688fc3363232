// What a test program says when all of its tests were skipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/run_command.h"

namespace sheaf::testing {
namespace {

// Run by the tests below only.
TEST(Sample, DISABLED_IsSkipped) { GTEST_SKIP() << "there is nothing to do"; }
TEST(Sample, DISABLED_IsSkippedToo) { GTEST_SKIP() << "there is nothing to do"; }
TEST(Sample, DISABLED_Passes) {}
TEST(Sample, DISABLED_Fails) { FAIL(); }

/// Whether this program says so of these tests alone. What it prints is not repeated here, or ctest
/// would take this program for skipped where a test below fails.
bool says_all_skipped(const std::string& filter) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto result = run_command(
      {self, "--gtest_brief=1", "--gtest_also_run_disabled_tests", "--gtest_filter=" + filter});
  return result.out.find("[ ALL SKIPPED ]") != std::string::npos;
}

TEST(SkippedTests, AreSaidWhereNoOtherWasRun) {
  EXPECT_TRUE(says_all_skipped("Sample.DISABLED_IsSkipped*"));
}

TEST(SkippedTests, AreNotSaidWhereAnotherWasRun) {
  for (const char* filter : {"*IsSkipped:*Passes", "*IsSkipped:*Fails"}) {
    EXPECT_FALSE(says_all_skipped(filter)) << filter;
  }
}

TEST(SkippedTests, AreNotSaidWhereNoneIs) {
  for (const char* filter : {"*Passes", "Nothing.*"}) {
    EXPECT_FALSE(says_all_skipped(filter)) << filter;
  }
}

}  // namespace
}  // namespace sheaf::testing
