#include "study/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/bench_page.h"

namespace sheaf::study {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Json row(const std::string& strategy, double loss, double speed) {
  return {{"strategy", strategy},
          {"ranks", 2},
          {"precision", "fp32"},
          {"last_loss", loss},
          {"problems", Json::array()},
          {"items_per_second", speed}};
}

TEST(UsualStrategies, HaveAHybridOnlyWhereRanksCanBeSplit) {
  EXPECT_THAT(usual_strategies(4), Contains("hybrid:zero3"));
  EXPECT_THAT(usual_strategies(2), Not(Contains("hybrid:zero3")));
  EXPECT_THAT(usual_strategies(5), Not(Contains("hybrid:zero3")));
}

TEST(OneRank, ComputesAsManySamplesAtATimeAsTheOthers) {
  train::RunOptions options;
  options.batch.global = 32;
  EXPECT_EQ(one_rank(options, 4, 10).options.batch.micro, 8);
  options.batch.micro = 2;
  EXPECT_EQ(one_rank(options, 4, 10).options.batch.micro, 2);
}

TEST(OptionsFor, SplitTheMeshForAHybridOnly) {
  EXPECT_EQ(options_for({.options = {}, .strategy = "hybrid:zero3", .ranks = 4}).mesh.replicate, 2);
  EXPECT_EQ(options_for({.options = {}, .strategy = "zero3", .ranks = 4}).mesh.replicate, 1);
}

TEST(CompareWith, FindsALossThatIsNotThatOfOneRank) {
  Json rows = {row("ddp", 2.0001, 30), row("zero3", 2.1, 20)};
  compare_with(row("one rank", 2.0, 10), rows);
  EXPECT_EQ(rows[0]["speed_up"], 3.0);
  EXPECT_EQ(rows[0]["loss_agrees"], true);
  EXPECT_TRUE(rows[0]["problems"].empty());
  EXPECT_THAT(rows[1]["problems"][0].get<std::string>(), HasSubstr("2.10000"));
}

TEST(RowOf, NamesRankAndUnitOfWeightsThatDiffer) {
  TrialResult result;
  result.run.start = {{"precision", "fp32"}, {"items", "tokens"}};
  result.run.end =
      Json{{"counted_steps", 1},
           {"items_per_second", 5.0},
           {"mfu", nullptr},
           {"elapsed_seconds", 1.0},
           {"memory", Json::array()},
           {"collectives", Json::array()},
           {"phases", nullptr},
           {"first_loss", 2.0},
           {"last_loss", 1.0},
           {"weights_in_sync", false},
           {"odd_weights", {{{"rank", 1}, {"unit", "h.0"}}, {{"rank", 2}, {"unit", "h.0"}}}}};
  const Json made = row_of(result, {}, 4);
  EXPECT_EQ(made["problems"][0], "weights out of sync: ranks 1, 2 in unit h.0");
}

TEST(RowOf, SaysWhyARunDidNotFinish) {
  TrialResult result;
  result.ending = Ending::out_of_memory;
  result.reason = "no more";
  EXPECT_EQ(row_of(result, {}, 2)["problems"][0], "out of memory: no more");
}

}  // namespace
}  // namespace sheaf::study
