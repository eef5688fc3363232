#include "sheaf/comm/run_ranks.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;

TEST(RunRanks, GivesEveryThreadItsRank) {
  std::atomic<int> sum{0};
  run_ranks(5, [&](const Group& group) {
    EXPECT_EQ(group.size(), 5);
    sum += group.rank();
  });
  EXPECT_EQ(sum, 10);
}

TEST(RunRanks, RethrowsTheFirstErrorWithItsRankAndKind) {
  try {
    run_ranks(4, [](const Group& group) {
      if (group.rank() == 2) throw UsageError("no such thing");
      group.barrier().wait();
    });
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "rank 2: no such thing");
  }
}

TEST(RunRanks, RethrowsOtherExceptionsAsErrors) {
  EXPECT_EQ(error_of([] { run_ranks(1, [](const Group&) { throw std::out_of_range("index"); }); }),
            "rank 0: index");
}

TEST(RunRanks, EndsRanksThatWaitInASplitGroup) {
  EXPECT_EQ(error_of([] {
              run_ranks(4, [](const Group& world) {
                const Group part = world.split(world.rank() / 2);
                if (world.rank() == 3) throw Error("fails");
                part.barrier().wait();
              });
            }),
            "rank 3: fails");
}

TEST(RunRanks, EndsRanksThatWaitForAMessage) {
  EXPECT_EQ(error_of([] {
              run_ranks(2, [](const Group& group) {
                if (group.rank() == 1) throw Error("fails");
                group.recv(at::ones({1}), 1).wait();
              });
            }),
            "rank 1: fails");
}

TEST(RunRanks, EndsRanksThatWaitOverGloo) {
  EXPECT_EQ(error_of([] {
              run_ranks(3,
                        [](const Group& group) {
                          if (group.rank() == 1) throw Error("fails");
                          group.all_reduce(at::ones({1})).wait();
                        },
                        {.backend = BackendKind::gloo});
            }),
            "rank 1: fails");
}

TEST(RunRanks, SaysWhichRankEndedWithoutTheOthers) {
  EXPECT_THAT(error_of([] {
                run_ranks(3, [](const Group& group) {
                  if (group.rank() != 1) group.barrier().wait();
                });
              }),
              HasSubstr("rank 1 ended during barrier"));
}

TEST(RunRanks, RefusesZeroRanksAndCuda) {
  EXPECT_THAT(error_of([] { run_ranks(0, [](const Group&) {}); }),
              HasSubstr("at least 1 rank, got 0"));
  EXPECT_THAT(error_of([] { run_ranks(2, [](const Group&) {}, {.backend = BackendKind::nccl}); }),
              HasSubstr("cannot be ranks on CUDA"));
  EXPECT_THAT(
      error_of([] { run_ranks(2, [](const Group&) {}, {.backend = BackendKind::one_gpu}); }),
      HasSubstr("cannot be ranks on CUDA"));
}

TEST(RunRanksForked, ReportsHowEveryRankEnded) {
  const auto outcomes = run_ranks_forked(3, [](const Group& group) {
    group.barrier().wait();
    if (group.rank() == 1) throw UsageError("wrong");
    if (group.rank() == 2) _exit(7);
  });
  EXPECT_EQ(outcomes[0].exit_code, 0);
  EXPECT_EQ(outcomes[1].exit_code, 2);
  EXPECT_EQ(outcomes[1].error, "wrong");
  EXPECT_EQ(outcomes[2].exit_code, 7);
}

}  // namespace
}  // namespace sheaf::comm
