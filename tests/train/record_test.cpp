#include "sheaf/train/record.h"

#include <gtest/gtest.h>

namespace sheaf::train {
namespace {

constexpr PhaseTimes kPhases{.data_wait = Seconds(1),
                             .forward = Seconds(2),
                             .backward = Seconds(4),
                             .exposed_communication = Seconds(8),
                             .optimizer = Seconds(16)};

TEST(PhaseTimes, AddUpToTheirTotal) { EXPECT_EQ(kPhases.total(), Seconds(31)); }

TEST(PhaseTimes, AreAddedPhaseByPhase) {
  PhaseTimes sum = kPhases;
  sum += kPhases;
  EXPECT_EQ(sum.data_wait, Seconds(2));
  EXPECT_EQ(sum.forward, Seconds(4));
  EXPECT_EQ(sum.backward, Seconds(8));
  EXPECT_EQ(sum.exposed_communication, Seconds(16));
  EXPECT_EQ(sum.optimizer, Seconds(32));
}

}  // namespace
}  // namespace sheaf::train
