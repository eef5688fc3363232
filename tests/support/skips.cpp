#include <gtest/gtest.h>

#include <iostream>

namespace sheaf::testing {
namespace {

/// Says so where a whole program had nothing to run: it has passed all the same, and ctest would
/// count it as such. See sheaf_all_skipped in tests/CMakeLists.txt.
class Skips final : public ::testing::EmptyTestEventListener {
  void OnTestProgramEnd(const ::testing::UnitTest& tests) override {
    const int skipped = tests.skipped_test_count();
    if (skipped > 0 && skipped == tests.test_to_run_count()) {
      std::cout << "[ ALL SKIPPED ]" << std::endl;
    }
  }
};

// Before main, since tests have none of their own.
[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Skips);
  return true;
}();

}  // namespace
}  // namespace sheaf::testing
