#include "sheaf/comm/traffic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "sheaf/comm/init.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

TEST(Traffic, CountsCallsAndBytesByKindAndPurpose) {
  const Group group = fake_group(4);
  group.all_reduce(at::ones({8}), {.purpose = Purpose::gradients}).wait();
  group.all_reduce(at::ones({2}), {.purpose = Purpose::loss}).wait();
  group.all_gather(at::ones({12}), at::ones({3}), {.purpose = Purpose::parameters}).wait();
  group.reduce_scatter(at::ones({3}), at::ones({12}), {.purpose = Purpose::gradients}).wait();
  const Traffic traffic = group.traffic();
  EXPECT_EQ(traffic.of(Kind::all_reduce).calls, 2);
  EXPECT_EQ(traffic.of(Kind::all_reduce, Purpose::gradients).bytes, Bytes{32});
  EXPECT_EQ(traffic.of(Kind::all_gather).bytes, Bytes{48});
  EXPECT_EQ(traffic.of(Purpose::gradients).calls, 2);
  EXPECT_EQ(traffic.of(Purpose::gradients).bytes, Bytes{80});
  EXPECT_EQ(traffic.total().calls, 4);
}

TEST(Traffic, SubtractsToWhatAStepDid) {
  const Group group = fake_group(2);
  group.broadcast(at::ones({1}), 0).wait();
  const Traffic before = group.traffic();
  group.broadcast(at::ones({5}), 0).wait();
  const Traffic step = group.traffic() - before;
  EXPECT_EQ(step.of(Kind::broadcast).calls, 1);
  EXPECT_EQ(step.total().bytes, Bytes{20});
}

TEST(Traffic, CountsTheGroupsSplitFromAGroup) {
  run_ranks(2, [](const Group& world) {
    const Group part = world.split(0);
    const Traffic before = world.traffic();
    part.all_reduce(at::ones({3})).wait();
    const Traffic step = world.traffic() - before;
    sheaf::testing::require(step.of(Kind::all_reduce).calls == 1, "counted in the world");
    sheaf::testing::require(part.traffic().of(Kind::all_reduce).bytes == Bytes{12},
                            "and in the part");
    sheaf::testing::require(part.traffic().of(Kind::all_gather).calls == 0,
                            "not what the world did");
  });
}

TEST(Traffic, CountsAgainWhatWasRepeated) {
  const Group group = fake_group(2, 0);
  group.all_reduce(at::ones({4}), {.purpose = Purpose::gradients}).wait();
  group.count_again(group.traffic());
  const Tally tally = group.traffic().of(Kind::all_reduce, Purpose::gradients);
  EXPECT_EQ(tally.calls, 2);
  EXPECT_EQ(tally.bytes.count, 2 * 16);
}

TEST(Traffic, MeasuresTheTimeSpentWaiting) {
  run_ranks(2, [](const Group& group) {
    group.all_reduce(at::ones({100'000})).wait();
    sheaf::testing::require(group.traffic().of(Kind::all_reduce).waiting > Seconds(0), "waited");
  });
}

TEST(Traffic, NamesKindsAndPurposes) {
  EXPECT_EQ(name(Kind::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name(Kind::barrier), "barrier");
  EXPECT_EQ(name(Purpose::control), "control");
}

}  // namespace
}  // namespace sheaf::comm
