#include "sheaf/plan/ways_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/sample_models.h"
#include "sheaf/plan/memory.h"

namespace sheaf::plan {
namespace {

using testing::gpt2_large;
using ::testing::IsEmpty;
using testing::small_gpt2;

Bytes peak_of(const PlannedRun& run) { return predict_memory(run.model, run.setting).peak; }

Bytes part_of(Bytes bytes, double part) {
  return {static_cast<std::int64_t>(part * static_cast<double>(bytes.count))};
}

std::set<std::string> fields(const WayOut& way) {
  std::set<std::string> names;
  for (const auto& [name, value] : way.fields) names.insert(name);
  return names;
}

TEST(WaysOut, AreThreeThatFit) {
  const PlannedRun run{small_gpt2(), {.stage = Stage::ddp, .shard = 2, .micro_batch = 32}};
  for (const double part : {0.8, 0.5, 0.3}) {
    const Bytes limit = part_of(peak_of(run), part);
    const auto ways = ways_out(run, limit);
    ASSERT_EQ(ways.size(), 3U) << part;
    for (const WayOut& way : ways) {
      EXPECT_LE(peak_of(way.run), limit);
      EXPECT_EQ(peak_of(way.run), way.peak);
      EXPECT_NE(way.meaning, "");
    }
  }
}

TEST(WaysOut, BeginWithWhatComputesTheSame) {
  const PlannedRun run{small_gpt2(), {.stage = Stage::ddp, .shard = 2, .micro_batch = 32}};
  const auto ways = ways_out(run, part_of(peak_of(run), 0.8));
  EXPECT_EQ(ways.front().fields,
            (std::vector<std::pair<std::string, std::string>>{{"batch.micro", "16"}}));
  EXPECT_EQ(ways.front().run.setting.accumulation, 2);
}

TEST(WaysOut, ChangeNoMoreThanNeeded) {
  const PlannedRun run{small_gpt2(), {.stage = Stage::ddp, .shard = 2, .micro_batch = 32}};
  const auto ways = ways_out(run, part_of(peak_of(run), 0.3), 8);
  for (const WayOut& more : ways) {
    for (const WayOut& less : ways) {
      const auto a = fields(less), b = fields(more);
      // More ranks have less each, so their batch.micro follows.
      const bool contains =
          !b.contains("ranks") && std::includes(b.begin(), b.end(), a.begin(), a.end());
      EXPECT_TRUE(&more == &less || !contains) << more.meaning << " | " << less.meaning;
    }
  }
}

TEST(WaysOut, CutStatesWhereThoseAreTheProblem) {
  const PlannedRun run{gpt2_large(), {.stage = Stage::ddp, .shard = 8, .device = Device::gpu}};
  const auto ways = ways_out(run, gibibytes(16));
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways.front().fields.front().first, "shard.stage");
}

TEST(WaysOut, TakeSeveralChangesThatComputeTheSameBeforeOthers) {
  const PlannedRun run{gpt2_large(), {.stage = Stage::ddp, .shard = 8, .micro_batch = 16}};
  const auto ways = ways_out(run, gibibytes(12));
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(fields(ways.front()), (std::set<std::string>{"batch.micro", "shard.stage"}));
}

TEST(WaysOut, AreNoStrongerThanNeeded) {
  const PlannedRun run{gpt2_large(), {.stage = Stage::ddp, .shard = 8, .micro_batch = 16}};
  PlannedRun gentler = ways_out(run, gibibytes(12)).front().run;
  gentler.setting.micro_batch *= 2;
  gentler.setting.accumulation /= 2;
  EXPECT_GT(1.05 * static_cast<double>(peak_of(gentler).count),
            static_cast<double>(gibibytes(12).count));
}

TEST(WaysOut, KeepTheBatch) {
  const PlannedRun run{small_gpt2(),
                       {.stage = Stage::zero2, .shard = 2, .micro_batch = 12, .accumulation = 2}};
  for (const WayOut& way : ways_out(run, part_of(peak_of(run), 0.6), 8)) {
    const Setting& setting = way.run.setting;
    EXPECT_EQ(setting.micro_batch * setting.accumulation * setting.shard, 48) << way.meaning;
  }
}

TEST(WaysOut, AreNoneWhereNothingHelps) {
  EXPECT_THAT(ways_out({gpt2_large(), {.stage = Stage::zero3}}, mebibytes(1)), IsEmpty());
}

}  // namespace
}  // namespace sheaf::plan
