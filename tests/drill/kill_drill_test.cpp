// Processes of a run die at any moment; the run ends as if nothing had happened.
#include "drill/kill_drill.h"

#include <gtest/gtest.h>

#include "drill/same_checkpoints.h"
#include "sheaf/checkpoint/folder.h"
#include "support/temporary_folder.h"

namespace sheaf::drill {
namespace {

using sheaf::testing::TemporaryFolder;

DrillOptions drill_in(const TemporaryFolder& folder, bool asynchronous) {
  return {.program = SHEAF_PROGRAM,
          .folder = folder.path(),
          .kills = 6,
          .seed = 11,
          .asynchronous = asynchronous};
}

class KillDrill : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Saves, KillDrill, ::testing::Values(false, true), [](const auto& info) {
  return info.param ? "Asynchronous" : "Synchronous";
});

TEST_P(KillDrill, EndsWithTheWeightsOfAnUndisturbedRun) {
  const TemporaryFolder disturbed;
  const TemporaryFolder whole;
  const DrillOptions options = drill_in(disturbed, GetParam());
  const DrillResult result = run_drill(options);
  ASSERT_EQ(result.kills.size(), 6U);
  // A save in the background may be some steps behind, but never a whole interval.
  const std::int64_t most = options.every * (options.asynchronous ? 2 : 1);
  for (const Kill& kill : result.kills) {
    EXPECT_LE(kill.step - kill.resumed, most) << table_of(result);
  }
  run_undisturbed(drill_in(whole, GetParam()), result.final_step);
  EXPECT_EQ(checkpoint::steps_in(disturbed.path("saved")).back(), result.final_step);
  EXPECT_EQ(first_difference(checkpoint::path_of_step(whole.path("saved"), result.final_step),
                             checkpoint::path_of_step(disturbed.path("saved"), result.final_step)),
            "")
      << table_of(result);
}

}  // namespace
}  // namespace sheaf::drill
