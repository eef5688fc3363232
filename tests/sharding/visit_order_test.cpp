#include "sharding/visit_order.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace sheaf::sharding {
namespace {

/// Returns whether any of the visits was a surprise.
bool run_pass(VisitOrder& order, std::initializer_list<std::size_t> units) {
  bool surprised = false;
  for (const std::size_t unit : units) surprised = order.visit(unit) || surprised;
  order.end_pass();
  return surprised;
}

TEST(VisitOrder, ForetellsNothingInTheFirstPass) {
  VisitOrder order;
  order.visit(0);
  order.visit(1);
  EXPECT_FALSE(order.known());
  EXPECT_EQ(order.next(), std::nullopt);
  EXPECT_EQ(order.first(), std::nullopt);
}

TEST(VisitOrder, ForetellsTheNextUnitFromTheSecondPassOn) {
  VisitOrder order;
  run_pass(order, {2, 0, 1});
  EXPECT_EQ(order.first(), 2);
  EXPECT_EQ(order.next(), 2);
  order.visit(2);
  EXPECT_EQ(order.next(), 0);
  order.visit(0);
  EXPECT_EQ(order.next(), 1);
  order.visit(1);
  EXPECT_EQ(order.next(), std::nullopt);
}

TEST(VisitOrder, TakesVisitsInARowForOne) {
  VisitOrder order;
  EXPECT_FALSE(run_pass(order, {0, 0, 0, 1, 1}));
  EXPECT_FALSE(run_pass(order, {0, 1, 1}));
  order.visit(0);
  order.visit(0);
  EXPECT_EQ(order.next(), 1);
}

TEST(VisitOrder, KnowsAUnitThatIsVisitedTwice) {
  VisitOrder order;
  run_pass(order, {0, 1, 0, 2});
  order.visit(0);
  order.visit(1);
  EXPECT_EQ(order.next(), 0);
  order.visit(0);
  EXPECT_EQ(order.next(), 2);
}

TEST(VisitOrder, IsSurprisedOnceByAnotherOrderAndLearnsIt) {
  VisitOrder order;
  run_pass(order, {0, 1, 2, 3});
  order.visit(0);
  EXPECT_TRUE(order.visit(2));
  EXPECT_FALSE(order.visit(1));
  EXPECT_EQ(order.next(), std::nullopt);
  order.end_pass();
  EXPECT_FALSE(run_pass(order, {0, 2, 1}));
  EXPECT_EQ(order.first(), 0);
}

TEST(VisitOrder, LearnsAnotherBeginning) {
  VisitOrder order;
  run_pass(order, {0, 1, 2});
  EXPECT_TRUE(run_pass(order, {2, 1, 0}));
  EXPECT_EQ(order.first(), 2);
  EXPECT_FALSE(run_pass(order, {2, 1, 0}));
}

TEST(VisitOrder, KeepsTheOrderWhenAPassIsShorter) {
  VisitOrder order;
  run_pass(order, {0, 1, 2});
  EXPECT_FALSE(run_pass(order, {0, 1}));
  order.visit(0);
  order.visit(1);
  EXPECT_EQ(order.next(), 2);
}

TEST(VisitOrder, BeginsANewPassWhenTheLastHadNoEnd) {
  VisitOrder order;
  run_pass(order, {0, 1, 2});
  order.visit(0);
  order.visit(1);
  EXPECT_FALSE(order.visit(0));
  EXPECT_EQ(order.next(), 1);
}

TEST(VisitOrder, KeepsWhatItKnowsWhenAPassHadNoVisits) {
  VisitOrder order;
  run_pass(order, {0, 1});
  order.end_pass();
  EXPECT_TRUE(order.known());
  EXPECT_EQ(order.first(), 0);
}

TEST(VisitOrder, DoesNotGrowForEverWithoutAnEnd) {
  VisitOrder order;
  for (std::size_t unit = 0; unit < 10000 && !order.known(); ++unit) order.visit(unit);
  EXPECT_TRUE(order.known());
}

}  // namespace
}  // namespace sheaf::sharding
