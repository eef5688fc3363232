#include "train/clock_offset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sheaf/base/recorder.h"
#include "sheaf/comm/run_ranks.h"

namespace sheaf::train {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

TEST(ClockOffset, IsExactlyNothingOnOneHost) {
  comm::run_ranks(2,
                  [](const comm::Group& world) { EXPECT_EQ(clock_offset(world, own_clock()), 0); });
}

TEST(ClockOffset, IsFoundByMessagesBetweenHosts) {
  comm::run_ranks(3, [](const comm::Group& world) {
    // Ranks 1 and 2 are an hour and two ahead, on hosts of their own.
    const ClockPlace clock{.host = std::to_string(world.rank()),
                           .now = [&] { return Recorder::now() + world.rank() * kHour; }};
    const std::int64_t offset = clock_offset(world, clock);
    // Wrong by half of a message's way there and back at most, which is no minute.
    EXPECT_LT(std::abs(offset - world.rank() * kHour), kHour / 60);
  });
}

TEST(ClockOffset, IsNothingForRanksBesideTheFirst) {
  comm::run_ranks(3, [](const comm::Group& world) {
    const ClockPlace clock{.host = world.rank() == 2 ? "b" : "a",
                           .now = [&] { return Recorder::now() + world.rank() * kHour; }};
    const std::int64_t offset = clock_offset(world, clock);
    if (world.rank() == 1) EXPECT_EQ(offset, 0);
    if (world.rank() == 2) EXPECT_GT(offset, kHour);
  });
}

}  // namespace
}  // namespace sheaf::train
