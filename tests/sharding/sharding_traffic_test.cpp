// What a step sends: each collective of the table in the design, and no other.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "sharding/tower.h"
#include "sheaf/sharding/reduce_hook.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using comm::Kind;
using comm::Purpose;
using sharding::NoSync;
using sharding::Wake;

constexpr layout::BucketOptions kSmallBuckets{.cap = {1024}, .first_cap = {64}};
constexpr std::array kStages{Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3};

/// Calls and bytes by kind and purpose, without what is zero.
using Sent = std::map<std::pair<Kind, Purpose>, std::pair<std::int64_t, std::int64_t>>;

constexpr std::pair kGather{Kind::all_gather, Purpose::parameters};
constexpr std::pair kScatter{Kind::reduce_scatter, Purpose::gradients};
constexpr std::pair kReduce{Kind::all_reduce, Purpose::gradients};
constexpr std::pair kControl{Kind::all_reduce, Purpose::control};

Sent sent(const comm::Traffic& traffic) {
  Sent all;
  for (std::size_t kind = 0; kind < comm::kNumKinds; ++kind) {
    for (std::size_t purpose = 0; purpose < comm::kNumPurposes; ++purpose) {
      const std::pair key{static_cast<Kind>(kind), static_cast<Purpose>(purpose)};
      const comm::Tally& tally = traffic.of(key.first, key.second);
      if (tally.calls > 0) all[key] = {tally.calls, tally.bytes.count};
    }
  }
  return all;
}

/// What the third step sends over `group`: the first ones learn the order of things.
Sent third_step(Session& session, const comm::Group& group, int passes = 1) {
  session.step(passes);
  session.step(passes);
  const comm::Traffic start = group.traffic();
  session.step(passes);
  return sent(group.traffic() - start);
}

std::pair<std::int64_t, std::int64_t> times(std::int64_t count,
                                            std::pair<std::int64_t, std::int64_t> each) {
  return {count * each.first, count * each.second};
}

/// All units once.
std::pair<std::int64_t, std::int64_t> every_unit(const Session& session, std::int64_t width = 4) {
  return {static_cast<std::int64_t>(session.state().units().size()),
          width * session.num_elements()};
}

/// What a pass of zero3 gathers: all units forward, and backward all but the root, which has
/// stayed, and those that forward ended with: one by boundary, as many as fit by touch.
std::pair<std::int64_t, std::int64_t> both_ways(const Session& session,
                                                std::int64_t kept = 1,
                                                std::int64_t width = 4) {
  auto [calls, bytes] = times(2, every_unit(session, width));
  bytes -= width * session.num_elements("(root)");
  bytes -= width * kept * session.num_elements("blocks.0");
  return {calls - 1 - kept, bytes};
}

/// The table's row for a step of one pass.
Sent table(const Session& session, Stage stage) {
  const auto units = every_unit(session);
  if (stage == Stage::ddp) return {{kReduce, units}};
  const auto gathered = stage == Stage::zero3 ? both_ways(session) : units;
  return {{kGather, gathered}, {kScatter, units}};
}

ShardOptions with(const comm::Group& group, Stage stage) {
  return {.group = group, .stage = stage, .buckets = kSmallBuckets};
}

/// Runs `body` for every stage on two ranks.
void for_each_stage(const std::function<void(const ShardOptions&)>& body) {
  for (const Stage stage : kStages) {
    SCOPED_TRACE(name_of(stage));
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) { body(with(world, stage)); });
  }
}

TEST(Traffic, IsThatOfTheTable) {
  for_each_stage([](const ShardOptions& options) {
    Session session({}, options);
    EXPECT_EQ(third_step(session, *options.group), table(session, options.stage));
    EXPECT_GT(session.state().units().size(), 3);
  });
}

TEST(Traffic, IsOneExchangeOfEachKindWhenFlat) {
  for_each_stage([](ShardOptions options) {
    if (options.stage == Stage::zero3) return;
    options.policy = sharding::Policy::flat;
    Session session({}, options);
    EXPECT_EQ(third_step(session, *options.group), table(session, options.stage));
    EXPECT_EQ(session.state().units().size(), 1);
  });
}

TEST(Traffic, OfAFlatZero3IsOneGatherAndOneReduction) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    ShardOptions options = with(world, Stage::zero3);
    options.policy = sharding::Policy::flat;
    Session session({}, options);
    const auto once = every_unit(session);
    EXPECT_EQ(third_step(session, world), (Sent{{kGather, once}, {kScatter, once}}));
  });
}

TEST(Traffic, DoesNotDependOnPrefetchAndOverlap) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    for (const bool on : {false, true}) {
      ShardOptions options = with(world, Stage::zero3);
      options.prefetch = on;
      options.overlap = !on;
      Session session({}, options);
      EXPECT_EQ(third_step(session, world), table(session, Stage::zero3));
    }
  });
}

TEST(Traffic, WokenByTouchSavesWhatForwardHasLeft) {
  for (const int limit : {1, 2, 3}) {
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
      ShardOptions options = with(world, Stage::zero3);
      options.wake = Wake::touch;
      options.max_gathered = limit;
      Session session({}, options);
      const Sent expected{{kGather, both_ways(session, limit)}, {kScatter, every_unit(session)}};
      EXPECT_EQ(third_step(session, world), expected) << limit;
    });
  }
}

TEST(Traffic, WithReshardOffGathersOnce) {
  for (const Wake wake : {Wake::touch, Wake::boundary}) {
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
      ShardOptions options = with(world, Stage::zero3);
      options.wake = wake;
      options.reshard_after_forward = false;
      Session session({}, options);
      const auto once = every_unit(session);
      EXPECT_EQ(third_step(session, world), (Sent{{kGather, once}, {kScatter, once}}));
    });
  }
}

TEST(Traffic, OfLocalPassesIsThatOfOneReduction) {
  for_each_stage([](const ShardOptions& options) {
    Session session({}, options);
    Sent expected = table(session, options.stage);
    if (options.stage == Stage::zero3) expected[kGather] = times(3, both_ways(session));
    EXPECT_EQ(third_step(session, *options.group, 3), expected);
  });
}

TEST(Traffic, IsNoneOfGradientsUntilTheOutermostLocalScopeEnds) {
  for_each_stage([](const ShardOptions& options) {
    Session session({}, options);
    const comm::Traffic start = options.group->traffic();
    {
      const auto outer = session.state().no_sync();
      { const auto inner = session.state().no_sync(); }
      session.forward_and_backward();
    }
    const comm::Traffic sent = options.group->traffic() - start;
    EXPECT_EQ(sent.of(kScatter.first, kScatter.second).calls, 0) << name_of(options.stage);
    EXPECT_EQ(sent.of(kReduce.first, kReduce.second).calls, 0) << name_of(options.stage);
  });
}

TEST(Traffic, OfReducedPassesIsAReductionEachWhereGradientsAreCut) {
  for_each_stage([](ShardOptions options) {
    options.no_sync = NoSync::reduce;
    Session session({}, options);
    Sent expected = table(session, options.stage);
    if (options.stage >= Stage::zero2) expected[kScatter] = times(3, every_unit(session));
    if (options.stage == Stage::zero3) expected[kGather] = times(3, both_ways(session));
    EXPECT_EQ(third_step(session, *options.group, 3), expected);
  });
}

TEST(Traffic, OfEvaluationIsOneGatherWhereParametersAreCut) {
  for_each_stage([](const ShardOptions& options) {
    Session session({}, options);
    session.steps(2);
    const comm::Traffic start = options.group->traffic();
    session.evaluate();
    Sent expected;
    if (options.stage == Stage::zero3) expected[kGather] = every_unit(session);
    EXPECT_EQ(sent(options.group->traffic() - start), expected);
    EXPECT_EQ(third_step(session, *options.group), table(session, options.stage));
  });
}

/// What the third step sends along each axis of a mesh.
struct ByAxis {
  Sent shard;
  Sent replicate;

  bool operator==(const ByAxis&) const = default;
};

void PrintTo(const ByAxis& sent, std::ostream* out) {
  *out << "shard " << ::testing::PrintToString(sent.shard) << ", replicate "
       << ::testing::PrintToString(sent.replicate);
}

ByAxis third_step(Session& session, const comm::Mesh& mesh, int passes = 1) {
  session.step(passes);
  session.step(passes);
  const comm::Traffic all = mesh.world().traffic();
  const comm::Traffic parts = mesh.group("shard").traffic();
  const comm::Traffic copies = mesh.group("replicate").traffic();
  session.step(passes);
  const comm::Traffic along_shard = mesh.group("shard").traffic() - parts;
  const comm::Traffic along_replicate = mesh.group("replicate").traffic() - copies;
  // The world's group counts those of its parts.
  EXPECT_EQ((mesh.world().traffic() - all).total().calls,
            along_shard.total().calls + along_replicate.total().calls);
  return {sent(along_shard), sent(along_replicate)};
}

/// What copies of the model exchange: what a rank keeps of the sum, once per unit.
std::pair<std::int64_t, std::int64_t> between_copies(const Session& session, Stage stage) {
  auto kept = every_unit(session);
  if (stage != Stage::ddp) kept.second /= 2;
  return kept;
}

/// Runs `body` for every stage on two copies of a model that is cut in two.
void for_each_hybrid(const std::function<void(const ShardOptions&)>& body) {
  for (const Stage stage : kStages) {
    SCOPED_TRACE(name_of(stage));
    on_ranks(Way::shared_threads, 4, [&](const comm::Group& world) {
      const comm::Mesh mesh(world, {{"replicate", 2}, {"shard", 2}});
      body({.mesh = mesh, .stage = stage, .buckets = kSmallBuckets});
    });
  }
}

TEST(Traffic, OfHybridMeshesIsTheTablesByAxis) {
  for_each_hybrid([](const ShardOptions& options) {
    Session session({}, options);
    const ByAxis expected{table(session, options.stage),
                          {{kReduce, between_copies(session, options.stage)}}};
    EXPECT_EQ(third_step(session, *options.mesh), expected);
  });
}

TEST(Traffic, OfLocalPassesOnAHybridMeshIsThatOfOneReductionAlongBothAxes) {
  for_each_hybrid([](const ShardOptions& options) {
    Session session({}, options);
    ByAxis expected{table(session, options.stage),
                    {{kReduce, between_copies(session, options.stage)}}};
    if (options.stage == Stage::zero3) expected.shard[kGather] = times(3, both_ways(session));
    EXPECT_EQ(third_step(session, *options.mesh, 3), expected);
  });
}

TEST(Traffic, OfReducedPassesOnAHybridMeshIsAReductionEachAlongBothAxes) {
  for_each_hybrid([](ShardOptions options) {
    options.no_sync = NoSync::reduce;
    if (options.stage < Stage::zero2) return;
    Session session({}, options);
    const auto copies = between_copies(session, options.stage);
    ByAxis expected{table(session, options.stage), {{kReduce, times(3, copies)}}};
    expected.shard[kScatter] = times(3, every_unit(session));
    if (options.stage == Stage::zero3) expected.shard[kGather] = times(3, both_ways(session));
    EXPECT_EQ(third_step(session, *options.mesh, 3), expected);
  });
}

TEST(Traffic, OfAHybridMeshWithReshardOffGathersOnceAlongTheShardAxis) {
  for (const Wake wake : {Wake::touch, Wake::boundary}) {
    for_each_hybrid([wake](ShardOptions options) {
      if (options.stage != Stage::zero3) return;
      options.wake = wake;
      options.reshard_after_forward = false;
      Session session({}, options);
      const auto once = every_unit(session);
      const ByAxis expected{{{kGather, once}, {kScatter, once}},
                            {{kReduce, between_copies(session, options.stage)}}};
      EXPECT_EQ(third_step(session, *options.mesh), expected);
    });
  }
}

TEST(Traffic, OfUnusedParametersIsOneSmallExchangeMore) {
  for_each_stage([](ShardOptions options) {
    options.find_unused = true;
    Session session({.idle = true}, options);
    Sent expected = table(session, options.stage);
    const auto num_parameters = static_cast<std::int64_t>(session.model().parameters().size());
    expected[kControl] = {1, 4 * num_parameters};
    EXPECT_EQ(third_step(session, *options.group), expected);
  });
}

TEST(Traffic, OfClippingIsOneNumberExceptWithDdp) {
  for_each_stage([](const ShardOptions& options) {
    Session session({}, options);
    session.before_step = [&] { session.state().clip_gradients(0.1); };
    Sent expected = table(session, options.stage);
    if (options.stage != Stage::ddp) expected[kControl] = {1, 8};
    EXPECT_EQ(third_step(session, *options.group), expected);
  });
}

TEST(Traffic, OfBuffersIsOneBroadcastPerType) {
  for_each_stage([](const ShardOptions& options) {
    const TowerOptions tower{.buffers = true};
    Session session(tower, options);
    Sent expected = table(session, options.stage);
    expected[{Kind::broadcast, Purpose::buffers}] = {2, 4 * 2 * tower.width + 8};
    EXPECT_EQ(third_step(session, *options.group), expected);
  });
}

TEST(Traffic, HasNoBuffersWhereTheyAreLeftAlone) {
  for_each_stage([](ShardOptions options) {
    options.buffer_sync = sharding::BufferSync::none;
    Session session({.buffers = true}, options);
    EXPECT_EQ(third_step(session, *options.group), table(session, options.stage));
  });
}

TEST(Traffic, OfBf16ParametersAndGradientsIsHalf) {
  for_each_stage([](ShardOptions options) {
    options.precision = {.compute = at::kBFloat16, .reduce = at::kBFloat16};
    Session session({}, options);
    Sent expected = table(session, options.stage);
    for (auto& entry : expected) entry.second.second /= 2;
    EXPECT_EQ(third_step(session, *options.group), expected);
  });
}

TEST(Traffic, OfGradientsIsHalfThroughACastHook) {
  for_each_stage([](ShardOptions options) {
    options.reduce_hook = sharding::cast_hook(at::kBFloat16);
    Session session({}, options);
    Sent expected = table(session, options.stage);
    for (const auto& key : {kReduce, kScatter}) {
      if (expected.contains(key)) expected[key].second /= 2;
    }
    EXPECT_EQ(third_step(session, *options.group), expected);
  });
}

}  // namespace
}  // namespace sheaf::testing
