#include "sheaf/checkpoint/compare.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/sample_checkpoint.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::SizeIs;
using namespace sheaf::testing;

/// Saves one tensor as the checkpoint of a step.
void save_values(const std::string& folder, std::int64_t step, const at::Tensor& values) {
  comm::run_ranks(1, [&](const comm::Group& group) {
    Saver saver(sample_options(folder, group));
    saver.start({.step = step, .weights = {{"values", values.scalar_type(), {values.numel()}}}},
                {{"values", 0, values}});
    require(saver.wait().has_value(), "nothing was saved");
  });
}

std::vector<Difference> compare_saved(const at::Tensor& first, const at::Tensor& second) {
  const TemporaryFolder folder;
  save_values(folder.path(), 1, first);
  save_values(folder.path(), 2, second);
  return compare(Reader(folder.path("step-00000001")), Reader(folder.path("step-00000002")));
}

TEST(Compare, TellsLargeIntegersApart) {
  // A double has only every 256th of these.
  const at::Tensor values = at::tensor({std::int64_t{1} << 60, std::int64_t{5}}, at::kLong);
  const auto differences = compare_saved(values, values + 1);
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_EQ(differences[0].count, 2);
  EXPECT_EQ(differences[0].largest, 1);
}

TEST(Compare, KnowsHowFarApartTheFarthestIntegersAre) {
  const at::Tensor low = at::tensor({std::numeric_limits<std::int64_t>::min()}, at::kLong);
  const at::Tensor high = at::tensor({std::numeric_limits<std::int64_t>::max()}, at::kLong);
  EXPECT_EQ(compare_saved(low, high).at(0).largest, 18446744073709551616.0);
}

TEST(Compare, TakesNaNsForTheSame) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto differences = compare_saved(at::tensor({nan, nan, 1.0}, at::kFloat),
                                         at::tensor({nan, 2.0, 1.5}, at::kFloat));
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_EQ(differences[0].count, 2);
  EXPECT_EQ(differences[0].largest, 0.5);
}

}  // namespace
}  // namespace sheaf::checkpoint
