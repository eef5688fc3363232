// Real handwritten digits are learnt as well on two ranks as on one.
#include <gtest/gtest.h>

#include <filesystem>

#include "sheaf/base/toml.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

RunOptions digits_run(const std::string& stage) {
  RunOptions options;
  auto fields = fields_of(options);
  read_toml_file(SHEAF_SOURCE_DIR "/configs/mnist_cnn.toml", fields);
  options.data.path = SHEAF_SOURCE_DIR "/.data/mnist";
  options.shard.stage = stage;
  return options;
}

double accuracy(const std::string& stage, int ranks) {
  return *record_run(digits_run(stage), ranks)->ended.at(0).evaluation->accuracy;
}

TEST(DigitsTraining, ReachesNinetySevenPercentOnAnyNumberOfRanks) {
  if (!std::filesystem::exists(digits_run("ddp").data.path + "/train-images-idx3-ubyte")) {
    GTEST_SKIP() << "no digits: run ./dev data mnist";
  }
  const double one = accuracy("ddp", 1);
  EXPECT_GE(one, 0.97);
  for (const std::string stage : {"ddp", "zero3"}) {
    const double two = accuracy(stage, 2);
    EXPECT_GE(two, 0.97) << stage;
    EXPECT_NEAR(two, one, 0.005) << stage;
  }
}

}  // namespace
}  // namespace sheaf::train
