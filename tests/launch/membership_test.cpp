#include "launch/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::launch {
namespace {

using testing::ElementsAre;

TEST(Membership, NeedsEveryNodeWithoutAMinimum) {
  Membership members({.nodes = 2});
  members.arrive(0, "a", 2);
  EXPECT_FALSE(members.is_enough());
  EXPECT_EQ(members.missing(), "1");
  members.arrive(1, "b", 2);
  EXPECT_TRUE(members.is_enough());
}

TEST(Membership, GoesOnWithTheMinimum) {
  Membership members({.nodes = 2, .min_ranks = 2});
  members.arrive(0, "a", 2);
  members.arrive(1, "b", 2);
  members.leave(1);
  EXPECT_TRUE(members.is_enough());
  EXPECT_FALSE(members.is_complete());
  EXPECT_EQ(members.roster(3).world_size(), 2);
}

TEST(Membership, NumbersRanksOverNodesOfAnySize) {
  Membership members({.nodes = 3, .min_ranks = 1});
  members.arrive(0, "a", 2);
  members.arrive(2, "c", 3);
  const Roster roster = members.roster(1);
  EXPECT_EQ(roster.generation, 1);
  EXPECT_EQ(roster.world_size(), 5);
  EXPECT_EQ(roster.first_rank(2), 2);
  EXPECT_EQ(roster.position(2), 1);
  EXPECT_EQ(roster.find(1), nullptr);
}

TEST(Membership, LeavesOutASlotButNotTheLastOnesThatAreNeeded) {
  Membership members({.nodes = 1, .min_ranks = 3});
  members.arrive(0, "a", 4);
  EXPECT_TRUE(members.leave_out(0, 1));
  EXPECT_THAT(members.roster(0).find(0)->slots, ElementsAre(0, 2, 3));
  EXPECT_FALSE(members.leave_out(0, 2));
}

TEST(Membership, GivesSlotsAnotherChanceWhenTheNodeComesAgain) {
  Membership members({.nodes = 1, .min_ranks = 1});
  members.arrive(0, "a", 2);
  EXPECT_TRUE(members.leave_out(0, 1));
  members.arrive(0, "a", 2);
  EXPECT_EQ(members.roster(0).world_size(), 1) << "nothing is new";
  members.arrive(0, "another launcher", 2);
  EXPECT_EQ(members.roster(0).world_size(), 2);
}

TEST(Membership, LeavesNothingOutWhereAllAreNeeded) {
  Membership members({.nodes = 1});
  members.arrive(0, "a", 2);
  EXPECT_FALSE(members.leave_out(0, 1));
}

}  // namespace
}  // namespace sheaf::launch
