#include "sheaf/profile/trace_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::profile {
namespace {

using ::testing::SizeIs;

RankTrace trace_of(std::int64_t steps, std::vector<OperatorUse> operators) {
  RankTrace rank;
  rank.times.steps = steps;
  rank.operators = std::move(operators);
  return rank;
}

OperatorUse use(const std::string& name, std::int64_t calls, double seconds) {
  return {.name = name, .calls = calls, .total = Seconds(seconds), .self = Seconds(seconds)};
}

const Difference& row_of(const std::vector<Difference>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &Difference::name);
  if (found == rows.end()) throw std::logic_error("no row " + name);
  return *found;
}

TEST(TraceDifference, NamesWhatIsNewRemovedAndChanged) {
  const auto rows = difference(trace_of(1, {use("a", 1, 1), use("b", 2, 1), use("c", 3, 1)}),
                               trace_of(1, {use("b", 5, 1), use("c", 3, 2), use("d", 1, 1)}))
                        .operators;
  EXPECT_THAT(rows, SizeIs(4));
  EXPECT_EQ(row_of(rows, "a").change, Change::removed);
  EXPECT_EQ(row_of(rows, "b").change, Change::changed);
  EXPECT_EQ(row_of(rows, "b").calls_before, 2);
  EXPECT_EQ(row_of(rows, "b").calls_after, 5);
  EXPECT_EQ(row_of(rows, "c").change, Change::same);
  EXPECT_EQ(row_of(rows, "c").after, Seconds(2));
  EXPECT_EQ(row_of(rows, "d").change, Change::added);
}

TEST(TraceDifference, ComparesStepWithStep) {
  const auto rows =
      difference(trace_of(2, {use("a", 4, 1)}), trace_of(3, {use("a", 6, 1)})).operators;
  EXPECT_EQ(row_of(rows, "a").change, Change::same);
}

TEST(TraceDifference, PutsTheLargestChangeOfTimeFirst) {
  const auto rows = difference(trace_of(1, {use("a", 1, 1), use("b", 1, 5)}),
                               trace_of(1, {use("a", 1, 1.5), use("b", 1, 2)}))
                        .operators;
  EXPECT_EQ(rows.at(0).name, "b");
}

TEST(TraceDifference, SeesThatCollectivesCarryMore) {
  RankTrace before = trace_of(1, {});
  RankTrace after = trace_of(1, {});
  before.collectives = {{"all_gather", "parameters", {.calls = 2, .bytes = {100}}}};
  after.collectives = {{"all_gather", "parameters", {.calls = 2, .bytes = {200}}},
                       {"all_reduce", "loss", {.calls = 1, .bytes = {8}}}};
  const auto rows = difference(before, after).collectives;
  EXPECT_EQ(row_of(rows, "all_gather parameters").change, Change::changed);
  EXPECT_EQ(row_of(rows, "all_gather parameters").bytes_after, Bytes{200});
  EXPECT_EQ(row_of(rows, "all_reduce loss").change, Change::added);
}

TEST(TraceDifference, ComparesBytesWhoseProductsAreTooLarge) {
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  RankTrace before = trace_of(6, {});
  RankTrace after = trace_of(3, {});
  before.collectives = {{"all_gather", "parameters", {.calls = 2, .bytes = {kMany}}}};
  after.collectives = {{"all_gather", "parameters", {.calls = 1, .bytes = {kMany / 2}}}};
  EXPECT_EQ(difference(before, after).collectives.at(0).change, Change::same);
  after.collectives[0].exchanged.bytes.count += 1;
  EXPECT_EQ(difference(before, after).collectives.at(0).change, Change::changed);
}

}  // namespace
}  // namespace sheaf::profile
