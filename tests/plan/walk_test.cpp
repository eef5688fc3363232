#include "plan/walk.h"

#include <gtest/gtest.h>

namespace sheaf::plan {
namespace {

TEST(Walk, RemembersTheMostAndWhatItConsistedOf) {
  Walk walk(2);
  const Held states = walk.take(Purpose::parameters, 100);
  walk.enter("forward", 1);
  Held kept = walk.take(Purpose::activations, 10);
  walk.enter("backward", 0);
  walk.take(Purpose::temporary, 5).reset();
  kept.reset();
  const Held later = walk.take(Purpose::temporary, 12);
  EXPECT_EQ(walk.peak().total, 115);
  EXPECT_EQ(walk.peak().moment, "backward of block 0");
  EXPECT_EQ(walk.peak().purposes[Purpose::activations], Bytes{10});
  EXPECT_EQ(walk.peak().activations[1], Bytes{10});
  EXPECT_EQ(walk.highest()[Purpose::temporary], Bytes{12});
}

TEST(Walk, HoldsBytesUntilTheLastHandleLetsGo) {
  Walk walk(0);
  Held one = walk.take(Purpose::activations, 7);
  const Held other = one;
  one.reset();
  const Held more = walk.take(Purpose::activations, 1);
  EXPECT_EQ(walk.peak().total, 8);
  EXPECT_EQ(walk.peak().activations.back(), Bytes{8});
}

}  // namespace
}  // namespace sheaf::plan
