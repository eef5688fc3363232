#include "sheaf/comm/group.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::require;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Group, RefusesBadArgumentsBeforeAnyRankMoves) {
  const Group group = fake_group(4);
  const at::Tensor four = at::ones({4});
  const auto said = [&](const std::function<Work()>& call) {
    return error_of([&] { call().wait(); });
  };
  EXPECT_EQ(said([&] { return group.all_reduce({}); }), "all_reduce: the tensor is not defined");
  EXPECT_THAT(said([&] {
                return group.all_reduce(at::ones({2, 3}).t());
              }),
              HasSubstr("must be contiguous"));
  EXPECT_EQ(said([&] { return group.all_gather(at::ones({15}), four); }),
            "all_gather: the whole must have 4 times the part's elements, got 15 and 4");
  EXPECT_THAT(said([&] { return group.all_gather(at::ones({16}, at::kInt), four); }),
              HasSubstr("one type, got Int and Float"));
  EXPECT_THAT(said([&] { return group.reduce_scatter(four, four); }), HasSubstr("got 4 and 4"));
  EXPECT_EQ(said([&] { return group.broadcast(four, 4); }),
            "broadcast: the root must be a rank from 0 to 3, got 4");
  EXPECT_THAT(said([&] { return group.broadcast(four, -1); }), HasSubstr("got -1"));
  EXPECT_EQ(said([&] { return group.send(four, 0); }), "send: the receiver is this rank itself: 0");
  EXPECT_THAT(said([&] { return group.recv(four, 9); }), HasSubstr("from 0 to 3, got 9"));
  EXPECT_THAT(
      said([&] { return group.all_reduce(four, {.reduction = Reduction::max, .scale = 2}); }),
      HasSubstr("only a sum"));
  EXPECT_THAT(said([&] {
                return group.all_reduce(at::ones({4}, at::kLong),
                                        {.reduction = Reduction::average});
              }),
              HasSubstr("floating-point"));
  EXPECT_THAT(said([&] { return group.all_to_all(at::ones({5}), at::ones({5})); }),
              HasSubstr("do not divide among 4 ranks"));
  EXPECT_THAT(said([&] {
                return group.all_to_all(four, four, {.input_splits = {4, 0}});
              }),
              HasSubstr("must be 4 counts"));
  EXPECT_THAT(said([&] {
                return group.all_to_all(four, four, {.input_splits = {5, -1, 0, 0}});
              }),
              HasSubstr("4 counts"));
  EXPECT_THAT(error_of([&] { static_cast<void>(group.shared_empty(-1, at::kFloat)); }),
              HasSubstr("negative, got -1"));
}

TEST(Group, NamesBothCallsWhenRanksDisagree) {
  EXPECT_THAT(error_of([] {
                run_ranks(2, [](const Group& group) {
                  if (group.rank() == 0) return group.all_reduce(at::ones({3})).wait();
                  group.all_gather(at::ones({6}), at::ones({3})).wait();
                });
              }),
              ::testing::AllOf(HasSubstr("ranks disagree"),
                               HasSubstr("all_reduce of 12 bytes of Float"),
                               HasSubstr("all_gather of 24 bytes of Float")));
}

TEST(Group, NamesTheSizesWhenRanksDisagree) {
  EXPECT_THAT(error_of([] {
                run_ranks(3, [](const Group& group) {
                  group.all_reduce(at::ones({group.rank() == 2 ? 5 : 4})).wait();
                });
              }),
              ::testing::AllOf(HasSubstr("of 20 bytes"), HasSubstr("of 16 bytes")));
}

TEST(Group, RefusesAMessageWithAnotherTag) {
  EXPECT_THAT(error_of([] {
                run_ranks(2, [](const Group& group) {
                  if (group.rank() == 0) return group.send(at::ones({3}), 1, {.tag = 5}).wait();
                  group.recv(at::ones({3}), 0, {.tag = 6}).wait();
                });
              }),
              HasSubstr("recv expected 12 bytes with tag 6, but rank 0 sent 12 bytes with tag 5"));
}

TEST(Group, RefusesAllToAllWhoseEndsDisagree) {
  EXPECT_THAT(
      error_of([] {
        run_ranks(2, [](const Group& group) {
          const std::vector<std::int64_t> mine =
              group.rank() == 0 ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{2, 2};
          group
              .all_to_all(
                  at::empty({4}), at::ones({4}), {.input_splits = mine, .output_splits = {2, 2}})
              .wait();
        });
      }),
      HasSubstr("all_to_all expected 8 bytes from rank"));
}

TEST(Group, SplitsByColorInRankOrder) {
  sheaf::testing::on_ranks(sheaf::testing::Way::shared_processes, 4, [](const Group& world) {
    const Group part = world.split(world.rank() % 2);
    require(part.size() == 2 && part.rank() == world.rank() / 2, "size and rank");
    require(part.world_ranks() == std::vector<int>{world.rank() % 2, world.rank() % 2 + 2},
            "world ranks");
    const at::Tensor tensor = at::full({1}, world.rank());
    part.all_reduce(tensor).wait();
    require(tensor.item<int>() == 2 * (world.rank() % 2) + 2, "sum within the part");
  });
}

TEST(Group, SplitsOverGlooToo) {
  sheaf::testing::on_ranks(sheaf::testing::Way::gloo, 4, [](const Group& world) {
    const Group part = world.split(world.rank() < 3 ? 0 : 1);
    const at::Tensor tensor = at::ones({1});
    part.all_reduce(tensor).wait();
    require(tensor.item<int>() == (world.rank() < 3 ? 3 : 1), "sum within the part");
  });
}

TEST(Group, OutlivesTheGroupItWasSplitFrom) {
  run_ranks(2, [](Group world) {
    const Group part = [&] { return Group(std::move(world)).split(0); }();
    part.barrier().wait();
  });
}

TEST(Group, TakesEmptyTensors) {
  for (const auto way :
       {sheaf::testing::Way::shared_threads, sheaf::testing::Way::shared_processes}) {
    sheaf::testing::on_ranks(way, 3, [](const Group& group) {
      const at::Tensor none = at::empty({0});
      group.all_reduce(none).wait();
      group.all_gather(none, none).wait();
      group.reduce_scatter(none, none).wait();
      group.broadcast(none, 1).wait();
      group.all_to_all(none, none).wait();
      require(group.shared_empty(0, at::kFloat).numel() == 0, "empty shared tensor");
    });
  }
}

TEST(Group, MovesTypesThatCannotBeReduced) {
  for (const auto way : {sheaf::testing::Way::gloo, sheaf::testing::Way::shared_processes}) {
    sheaf::testing::on_ranks(way, 2, [](const Group& group) {
      const at::Tensor flags = at::full({3}, group.rank() == 1, at::kBool);
      group.broadcast(flags, 1).wait();
      require(flags.all().item<bool>(), "bool");
      const at::Tensor small = at::zeros({4}, at::kFloat8_e4m3fn);
      group.all_gather(at::empty({8}, at::kFloat8_e4m3fn), small).wait();
    });
  }
}

TEST(Group, GivesTheSameBitsOnSharedMemoryHoweverRanksAreRun) {
  const auto input = [](int rank) {
    auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank));
    return at::randn({70'001}, generator);
  };
  at::Tensor expected = input(0);
  for (int r = 1; r < 4; ++r) expected = expected + input(r);
  for (const auto way :
       {sheaf::testing::Way::shared_threads, sheaf::testing::Way::shared_processes}) {
    sheaf::testing::on_ranks(way, 4, [&](const Group& group) {
      const at::Tensor tensor = input(group.rank());
      group.all_reduce(tensor).wait();
      sheaf::testing::require_equal(tensor, expected, "rank-order sum");
    });
  }
}

TEST(Group, DroppedCallsDoNotHangTheOthers) {
  EXPECT_THAT(error_of([] {
                run_ranks(2, [](const Group& group) {
                  if (group.rank() == 0) {
                    static_cast<void>(group.all_reduce(at::ones({1})));  // and nobody waits for it
                    return;
                  }
                  throw UsageError("gives up");
                });
              }),
              StartsWith("rank 1: gives up"));
}

TEST(FakeGroup, GathersInPlace) {
  const Group group = fake_group(3, 1);
  const at::Tensor parts = at::zeros({3, 2});
  parts[1].fill_(5);
  group.all_gather(parts, parts[1]).wait();
  EXPECT_TRUE(parts.equal(at::full({3, 2}, 5.0)));
}

TEST(FakeGroup, HasAnySizeAndMovesNothing) {
  const Group group = fake_group(1024, 1000);
  const at::Tensor tensor = at::ones({4});
  group.all_reduce(tensor).wait();
  group.send(tensor, 3).wait();
  group.barrier().wait();
  EXPECT_EQ(group.size(), 1024);
  EXPECT_EQ(group.rank(), 1000);
  EXPECT_EQ(group.backend(), "fake");
  EXPECT_TRUE(tensor.equal(at::ones({4})));
}

TEST(FakeGroup, RefusesARankOutsideTheGroup) {
  EXPECT_THAT(error_of([] { static_cast<void>(fake_group(4, 4)); }), HasSubstr("got rank 4 of 4"));
}

}  // namespace
}  // namespace sheaf::comm
