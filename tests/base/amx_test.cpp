#include "base/amx.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace sheaf {
namespace {

constexpr const char* kLimit = "ONEDNN_MAX_CPU_ISA";

/// Sets the variable, or takes it away, and puts back what was there.
class Limit {
 public:
  explicit Limit(const char* value) {
    if (const char* const before = std::getenv(kLimit)) before_ = before;
    value == nullptr ? ::unsetenv(kLimit) : ::setenv(kLimit, value, 1);
  }
  ~Limit() { before_.empty() ? ::unsetenv(kLimit) : ::setenv(kLimit, before_.c_str(), 1); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  std::string before_;
};

TEST(BrokenAmx, IsAvoidedOnlyWhereItIsBroken) {
  const Limit limit(nullptr);
  avoid_broken_amx();
  EXPECT_EQ(std::getenv(kLimit) != nullptr, has_broken_amx());
}

TEST(BrokenAmx, LeavesTheUsersWordAlone) {
  const Limit limit("AVX2");
  avoid_broken_amx();
  EXPECT_STREQ(std::getenv(kLimit), "AVX2");
}

}  // namespace
}  // namespace sheaf
