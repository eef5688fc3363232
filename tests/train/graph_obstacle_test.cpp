#include "train/graph_obstacle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sheaf::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

struct Given {
  RunOptions options;
  GraphSetting setting;
};

Given recordable() {
  Given run{.options = {}, .setting = {.backend = "nccl"}};
  run.options.comm.device = comm::DeviceKind::cuda;
  return run;
}

TEST(GraphObstacle, IsNotThereForAnOrdinaryRunOnGpus) {
  for (const char* stage : {"ddp", "ddp:flat", "zero1", "zero2", "zero3"}) {
    Given run = recordable();
    run.options.shard.stage = stage;
    EXPECT_EQ(graph_obstacle(run.options, run.setting), std::nullopt) << stage;
  }
}

TEST(GraphObstacle, NamesWhatIsInTheWay) {
  const std::vector<std::pair<std::string, std::function<void(Given&)>>> cases{
      {"comm.device = cpu", [](Given& run) { run.options.comm.device = comm::DeviceKind::cpu; }},
      {"exchanges over gloo need the host", [](Given& run) { run.setting.backend = "gloo"; }},
      {"exchanges over one_gpu need the host", [](Given& run) { run.setting.backend = "one_gpu"; }},
      {"precision.compute = fp16", [](Given& run) { run.setting.has_scaler = true; }},
      {"fault.nonfinite", [](Given& run) { run.setting.is_guarded = true; }},
      {"dropout (0.1)", [](Given& run) { run.setting.dropout = 0.1; }},
      {"fault.inject", [](Given& run) { run.setting.has_drill = true; }},
      {"fault.check = full", [](Given& run) { run.options.fault.check = comm::Check::full; }},
      {"block by block", [](Given& run) { run.setting.labels_memory = true; }}};
  for (const auto& [reason, change] : cases) {
    Given run = recordable();
    change(run);
    EXPECT_THAT(graph_obstacle(run.options, run.setting), Optional(HasSubstr(reason)));
  }
}

}  // namespace
}  // namespace sheaf::train
