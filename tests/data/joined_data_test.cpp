#include "data/joined_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/numbers.h"

namespace sheaf::data {
namespace {

using testing::Numbers;

JoinedData joined(const std::vector<std::int64_t>& sizes, const std::vector<double>& weights) {
  std::vector<std::shared_ptr<const Dataset>> datasets;
  for (const std::int64_t size : sizes) datasets.push_back(std::make_shared<Numbers>(size));
  return {std::move(datasets), weights};
}

TEST(JoinedData, PutsDatasetsOneAfterTheOther) {
  const JoinedData data = joined({2, 1, 3}, {});
  EXPECT_EQ(data.size(), 6);
  const Rows rows = data.make_batch(6);
  for (std::int64_t i = 0; i < 6; ++i) data.fill(i, i, rows);
  EXPECT_TRUE(rows.targets.equal(at::tensor({0, 1, 0, 0, 1, 2}, at::kLong)));
}

TEST(JoinedData, IsDrawnFromByWeightOrBySize) {
  const auto weighted = joined({2, 5}, {3, 1}).parts();
  ASSERT_EQ(weighted.size(), 2U);
  EXPECT_EQ(weighted[1].size, 5);
  EXPECT_EQ(weighted[0].weight, 3);
  const auto by_size = joined({2, 5}, {}).parts();
  EXPECT_EQ(by_size[0].weight, 2);
  EXPECT_EQ(by_size[1].weight, 5);
}

}  // namespace
}  // namespace sheaf::data
