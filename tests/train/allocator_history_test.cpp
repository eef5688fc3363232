#include "train/allocator_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::train {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AllocatorMoment moment(double seconds, std::int64_t in_use, std::int64_t reserved) {
  return {.time = Seconds(seconds), .in_use = {in_use}, .reserved = {reserved}};
}

std::vector<std::int64_t> in_use(const std::vector<AllocatorMoment>& moments) {
  std::vector<std::int64_t> counts;
  for (const AllocatorMoment& each : moments) counts.push_back(each.in_use.count);
  return counts;
}

TEST(AllocatorHistory, EndsWithWhatIsThere) {
  // 40 were there at first: +10, +20, -60, +1.
  const auto moments =
      replayed({moment(5, 10, 0), moment(6, 20, 0), moment(7, -60, 0), moment(8, 1, 0)},
               moment(9, 11, 0),
               3);
  EXPECT_THAT(in_use(moments), ElementsAre(50, 70, 70));
}

TEST(AllocatorHistory, CarriesOnThroughSpansWithoutChanges) {
  const auto moments = replayed({moment(0, 4, 8), moment(10, -4, 0)}, moment(10, 0, 8), 4);
  EXPECT_THAT(in_use(moments), ElementsAre(4, 4, 4, 4));
  for (const AllocatorMoment& each : moments) EXPECT_EQ(each.reserved, Bytes{8});
}

TEST(AllocatorHistory, KeepsTheHighestMomentOfASpan) {
  const auto moments =
      replayed({moment(0, 0, 0), moment(1, 9, 16), moment(2, -9, 0), moment(20, 0, -16)},
               moment(20, 0, 0),
               2);
  EXPECT_THAT(in_use(moments), ElementsAre(9, 0));
  EXPECT_EQ(moments[0].reserved, Bytes{16});
}

TEST(AllocatorHistory, IsEmptyWithoutChanges) {
  EXPECT_THAT(replayed({}, moment(1, 2, 3), 5), IsEmpty());
}

}  // namespace
}  // namespace sheaf::train
