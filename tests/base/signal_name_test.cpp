#include "base/signal_name.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sheaf {
namespace {

TEST(SignalName, IsTheUsualOne) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGINT), "SIGINT");
  EXPECT_EQ(signal_name(12345), "signal 12345");
}

}  // namespace
}  // namespace sheaf
