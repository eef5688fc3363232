#include "sheaf/comm/mesh.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::require;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int sum_over(const Group& group, int value) {
  const at::Tensor tensor = at::full({1}, value, at::kLong);
  group.all_reduce(tensor).wait();
  return tensor.item<int>();
}

TEST(Mesh, GroupsTheRanksOfEveryAxis) {
  run_ranks(6, [](const Group& world) {
    const Mesh mesh(world, {{"replicate", 2}, {"shard", 3}});
    require(mesh.coordinate("replicate") == world.rank() / 3, "replicate coordinate");
    require(mesh.coordinate("shard") == world.rank() % 3, "shard coordinate");
    require(mesh.group("shard").rank() == mesh.coordinate("shard"), "rank in the axis");
    require(sum_over(mesh.group("shard"), world.rank()) == (world.rank() < 3 ? 3 : 12),
            "sum over shard");
    require(sum_over(mesh.group("replicate"), world.rank()) == 2 * (world.rank() % 3) + 3,
            "sum over replicate");
  });
}

TEST(Mesh, FlattensTwoAxesIntoOneGroup) {
  run_ranks(8, [](const Group& world) {
    const Mesh mesh(world, {{"pipeline", 2}, {"shard", 2}, {"tensor", 2}});
    const Group group = mesh.flatten({"tensor", "shard"});
    require(group.size() == 4, "size");
    require(sum_over(group, world.rank()) == (world.rank() < 4 ? 6 : 22), "sum");
    require(mesh.flatten({"pipeline", "shard", "tensor"}).size() == 8, "all axes are the world");
  });
}

TEST(Mesh, GivesTheSameGroupForTheSameAxes) {
  run_ranks(4, [](const Group& world) {
    const Mesh mesh(world, {{"a", 2}, {"b", 2}});
    const auto calls = world.traffic().total().calls;
    require(mesh.flatten({"a"}).world_ranks() == mesh.group("a").world_ranks(), "same members");
    require(world.traffic().total().calls == calls, "and nothing was formed anew");
  });
}

TEST(Mesh, WorksOnRanksThatDoNotExist) {
  const Mesh mesh(fake_group(512, 300), {{"replicate", -1}, {"shard", 64}});
  EXPECT_EQ(mesh.size("replicate"), 8);
  EXPECT_EQ(mesh.group("shard").size(), 64);
  EXPECT_EQ(mesh.group("shard").rank(), 300 % 64);
  EXPECT_THAT(mesh.group("replicate").world_ranks(),
              ElementsAre(44, 108, 172, 236, 300, 364, 428, 492));
}

TEST(Mesh, RefusesAProductThatIsNotTheWorldSize) {
  EXPECT_EQ(error_of([] {
              const Mesh mesh(fake_group(6), {{"replicate", 2}, {"shard", 4}});
            }),
            "the mesh replicate 2 x shard 4 needs 8 ranks, the world has 6");
}

TEST(Mesh, RefusesAnAxisItDoesNotHave) {
  const Mesh mesh(fake_group(4), {{"shard", 4}});
  EXPECT_THAT(error_of([&] { static_cast<void>(mesh.group("tensor")); }),
              HasSubstr("has no axis 'tensor'"));
  EXPECT_THAT(error_of([&] {
                static_cast<void>(mesh.flatten({"shard", "x"}));
              }),
              HasSubstr("has no axis 'x'"));
  EXPECT_THAT(error_of([&] { static_cast<void>(mesh.flatten({})); }),
              HasSubstr("at least one axis"));
}

}  // namespace
}  // namespace sheaf::comm
