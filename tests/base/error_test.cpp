#include "sheaf/base/error.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

template <class Kind>
class EveryError : public testing::Test {};

using Kinds = testing::Types<Error, UsageError, CommError, IoError>;
TYPED_TEST_SUITE(EveryError, Kinds);

TYPED_TEST(EveryError, KeepsItsKindAndExitCodeBehindAPrefix) {
  const TypeParam original("disk is full");
  try {
    std::rethrow_exception(original.with_prefix("rank 2: "));
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error), typeid(TypeParam));
    EXPECT_STREQ(error.what(), "rank 2: disk is full");
    EXPECT_EQ(error.exit_code(), original.exit_code());
  }
}

TEST(Error, HasExitCodeTwoOnlyForWrongUsage) {
  EXPECT_EQ(UsageError("x").exit_code(), 2);
  EXPECT_EQ(Error("x").exit_code(), 1);
  EXPECT_EQ(CommError("x").exit_code(), 1);
  EXPECT_EQ(IoError("x").exit_code(), 1);
}

}  // namespace
}  // namespace sheaf
