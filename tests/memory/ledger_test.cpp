#include "sheaf/memory/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::memory {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

/// Matches an entry that holds `current` bytes and held `peak` at most.
auto entry(const std::string& owner, Purpose purpose, Bytes current, Bytes peak) {
  return AllOf(Field(&LedgerEntry::owner, owner),
               Field(&LedgerEntry::purpose, purpose),
               Field(&LedgerEntry::current, current),
               Field(&LedgerEntry::peak, peak));
}

TEST(Ledger, StartsEmpty) {
  const Ledger ledger;
  EXPECT_EQ(ledger.current(), Bytes{0});
  EXPECT_EQ(ledger.peak(), Bytes{0});
  EXPECT_THAT(ledger.entries(), IsEmpty());
}

TEST(Ledger, HoldsAChargeWhileItLives) {
  Ledger ledger;
  {
    const Charge charge = ledger.charge(Purpose::gathered, "block 0", {64});
    EXPECT_EQ(charge.bytes(), Bytes{64});
    EXPECT_EQ(ledger.current(), Bytes{64});
  }
  EXPECT_EQ(ledger.current(), Bytes{0});
}

TEST(Ledger, CountsEachPurposeApart) {
  Ledger ledger;
  const Charge parameters = ledger.charge(Purpose::parameters, "block 0", {8});
  const Charge gradients = ledger.charge(Purpose::gradients, "block 0", {16});
  EXPECT_EQ(ledger.current(Purpose::parameters), Bytes{8});
  EXPECT_EQ(ledger.current(Purpose::gradients), Bytes{16});
  EXPECT_EQ(ledger.current(Purpose::optimizer), Bytes{0});
}

TEST(Ledger, RemembersThePeakOfTheSum) {
  Ledger ledger;
  std::optional<Charge> first = ledger.charge(Purpose::gathered, "block 0", {100});
  first.reset();
  const Charge second = ledger.charge(Purpose::parameters, "block 0", {30});
  const Charge third = ledger.charge(Purpose::gradients, "block 0", {40});
  EXPECT_EQ(ledger.current(), Bytes{70});
  EXPECT_EQ(ledger.peak(), Bytes{100});
}

TEST(Ledger, RemembersThePeakOfEachPurpose) {
  Ledger ledger;
  static_cast<void>(ledger.charge(Purpose::gathered, "block 0", {100}));
  static_cast<void>(ledger.charge(Purpose::communication, "block 0", {80}));
  EXPECT_EQ(ledger.peak(Purpose::gathered), Bytes{100});
  EXPECT_EQ(ledger.peak(Purpose::communication), Bytes{80});
  EXPECT_EQ(ledger.peak(), Bytes{100});
}

TEST(Ledger, ListsOwnersAndPurposesInTheOrderOfFirstUse) {
  Ledger ledger;
  const Charge b = ledger.charge(Purpose::gathered, "b", {4});
  const Charge a = ledger.charge(Purpose::gathered, "a", {2});
  const Charge other = ledger.charge(Purpose::parameters, "b", {1});
  static_cast<void>(ledger.charge(Purpose::gathered, "b", {8}));
  EXPECT_THAT(ledger.entries(),
              ElementsAre(entry("b", Purpose::gathered, {4}, {12}),
                          entry("a", Purpose::gathered, {2}, {2}),
                          entry("b", Purpose::parameters, {1}, {1})));
}

TEST(Ledger, KeepsTheEntryOfAnOwnerThatHoldsNothing) {
  Ledger ledger;
  static_cast<void>(ledger.charge(Purpose::gathered, "block 0", {8}));
  EXPECT_THAT(ledger.entries(), ElementsAre(entry("block 0", Purpose::gathered, {0}, {8})));
}

TEST(Ledger, ResetsPeaksToWhatIsHeld) {
  Ledger ledger;
  const Charge kept = ledger.charge(Purpose::gathered, "block 0", {8});
  static_cast<void>(ledger.charge(Purpose::gathered, "block 0", {100}));
  ledger.reset_peaks();
  EXPECT_EQ(ledger.peak(), Bytes{8});
  EXPECT_EQ(ledger.peak(Purpose::gathered), Bytes{8});
  EXPECT_THAT(ledger.entries(), ElementsAre(entry("block 0", Purpose::gathered, {8}, {8})));
}

TEST(Ledger, IsTheSameInEveryCopy) {
  Ledger ledger;
  Ledger copy = ledger;
  const Charge charge = copy.charge(Purpose::optimizer, "block 0", {8});
  EXPECT_EQ(ledger.current(), Bytes{8});
}

TEST(Ledger, RefusesNegativeBytes) {
  Ledger ledger;
  try {
    static_cast<void>(ledger.charge(Purpose::optimizer, "block 0", {-8}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "'block 0' cannot hold a negative number of bytes for optimizer: -8");
  }
  EXPECT_THAT(ledger.entries(), IsEmpty());
}

TEST(Ledger, CountsRightFromManyThreads) {
  Ledger ledger;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([ledger, owner = std::to_string(thread % 2)]() mutable {
      for (int round = 0; round < 1000; ++round) {
        Charge charge = ledger.charge(Purpose::gathered, owner, {3});
        const Charge moved = std::move(charge);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(ledger.current(), Bytes{0});
  EXPECT_EQ(ledger.entries().size(), 2U);
  EXPECT_GE(ledger.peak(), Bytes{3});
  EXPECT_LE(ledger.peak(), Bytes{12});
}

TEST(Charge, HoldsNothingByDefault) { EXPECT_EQ(Charge().bytes(), Bytes{0}); }

TEST(Charge, HandsItsBytesOverWhenMoved) {
  Ledger ledger;
  Charge from = ledger.charge(Purpose::gathered, "block 0", {8});
  const Charge to = std::move(from);
  EXPECT_EQ(from.bytes(), Bytes{0});  // NOLINT(bugprone-use-after-move): promised by the class.
  EXPECT_EQ(to.bytes(), Bytes{8});
  EXPECT_EQ(ledger.current(), Bytes{8});
}

TEST(Charge, GivesBackWhatItHeldWhenAssigned) {
  Ledger ledger;
  Charge charge = ledger.charge(Purpose::gathered, "block 0", {8});
  charge = ledger.charge(Purpose::parameters, "block 1", {16});
  EXPECT_EQ(ledger.current(Purpose::gathered), Bytes{0});
  EXPECT_EQ(ledger.current(Purpose::parameters), Bytes{16});
  charge = {};
  EXPECT_EQ(ledger.current(), Bytes{0});
}

TEST(Charge, KeepsItsBytesWhenMovedToItself) {
  Ledger ledger;
  Charge charge = ledger.charge(Purpose::gathered, "block 0", {8});
  Charge& same = charge;
  charge = std::move(same);
  EXPECT_EQ(charge.bytes(), Bytes{8});
  EXPECT_EQ(ledger.current(), Bytes{8});
}

TEST(Charge, MayOutliveTheLedger) {
  std::optional<Ledger> ledger(std::in_place);
  const Charge charge = ledger->charge(Purpose::gathered, "block 0", {8});
  ledger.reset();
  EXPECT_EQ(charge.bytes(), Bytes{8});
}

TEST(Purpose, HasAName) {
  EXPECT_EQ(name(Purpose::parameters), "parameters");
  EXPECT_EQ(name(Purpose::gradients), "gradients");
  EXPECT_EQ(name(Purpose::optimizer), "optimizer");
  EXPECT_EQ(name(Purpose::gathered), "gathered");
  EXPECT_EQ(name(Purpose::communication), "communication");
  EXPECT_EQ(name(Purpose::activations), "activations");
  EXPECT_EQ(name(Purpose::temporary), "temporary");
}

}  // namespace
}  // namespace sheaf::memory
