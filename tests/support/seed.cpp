#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace sheaf::testing {
namespace {

/// Random numbers are the same in every run of a test: a bound that holds for nearly all of them
/// would fail now and then, and nobody could see why.
class Seed final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    constexpr std::uint64_t kSeed = 1234;
    // That of the CPU alone: CUDA must not be used before a test forks.
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_current_seed(kSeed);
  }
};

// Before main, since tests have none of their own.
[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Seed);
  return true;
}();

}  // namespace
}  // namespace sheaf::testing
