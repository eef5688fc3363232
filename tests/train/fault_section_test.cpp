#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "train/injected_fault.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using sheaf::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(InjectedFault, IsReadWithAllItsKeys) {
  const InjectedFault fault =
      parse_fault("slow:rank=2:step=7:steps=3:time=250ms:parameter=h.1.weight:bit=4:value=2.5");
  EXPECT_EQ(fault.kind, FaultKind::slow);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.step, 7);
  EXPECT_EQ(fault.steps, 3);
  EXPECT_EQ(fault.time, Seconds(0.25));
  EXPECT_EQ(fault.where, "h.1.weight");
  EXPECT_EQ(fault.bit, 4);
  EXPECT_EQ(fault.value, 2.5);
}

TEST(InjectedFault, SetsGradientsToNoNumberUnlessTold) {
  EXPECT_TRUE(std::isnan(parse_fault("set_gradient:step=1").value));
  EXPECT_TRUE(std::isinf(parse_fault("set_gradient:step=1:value=inf").value));
}

TEST(InjectedFault, HappensInItsStepAndOnItsRank) {
  const InjectedFault kill = parse_fault("kill:rank=1:step=5");
  EXPECT_TRUE(kill.is_on(1, 5));
  EXPECT_FALSE(kill.is_on(0, 5));
  EXPECT_FALSE(kill.is_on(1, 6));
  EXPECT_TRUE(parse_fault("full_disk:step=5:steps=2").is_on(0, 6));
}

TEST(InjectedFault, IsRefusedInOneSentence) {
  const auto said = [](const std::string& text) {
    return error_of([&] { static_cast<void>(parse_fault(text)); });
  };
  EXPECT_THAT(said("explode:step=1"), AllOf(HasSubstr("kill, stop, slow"), HasSubstr("explode")));
  EXPECT_THAT(said("kill:rank=1"), HasSubstr("needs the step it happens at"));
  EXPECT_THAT(said("kill:step=x"), HasSubstr("step must be a number"));
  EXPECT_THAT(said("kill:when=1"), HasSubstr("expected KIND:key=value"));
  EXPECT_THAT(said("kill:5"), HasSubstr("expected KIND:key=value"));
  EXPECT_THAT(said("flip_weight:step=1:bit=40"), HasSubstr("bit must be from 0 to 31"));
}

TEST(FaultSection, RefusesWhatCannotBe) {
  const auto said = [](const auto& change, int ranks) {
    RunOptions options = small_run();
    options.shard.stage = "ddp";
    change(options);
    return error_of([&] { check_options(options, ranks); });
  };
  EXPECT_THAT(said([](RunOptions& run) { run.fault.inject = {"kill:rank=2:step=1"}; }, 2),
              HasSubstr("there are 2 ranks"));
  EXPECT_THAT(said([](RunOptions& run) { run.fault.nonfinite = OnBadNumbers::rollback; }, 2),
              HasSubstr("a rollback needs checkpoints"));
  EXPECT_THAT(said([](RunOptions& run) { run.fault.sync_every = 5; }, 1),
              HasSubstr("one rank has none"));
  const auto shards = [](RunOptions& run) {
    run.fault.sync_every = 5;
    run.shard.stage = "zero3";
  };
  EXPECT_THAT(said(shards, 2), HasSubstr("zero3 has none"));
}

}  // namespace
}  // namespace sheaf::train
