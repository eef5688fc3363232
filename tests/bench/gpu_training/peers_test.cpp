#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::bench {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

const std::string kSource = SHEAF_SOURCE_DIR;
const std::string kPython = kSource + "/.deps/venv/bin/python3";

// Three Python programs and a run of sheaf, on a busy machine.
constexpr Seconds kDeadline{400};

// torch.compile is left out: it would take a minute and tries nothing more of this benchmark.
nlohmann::json measure(const std::string& row) {
  const testing::TemporaryFolder folder;
  const auto result = testing::run_command({SHEAF_GPU_TRAINING,
                                            "--row",
                                            row,
                                            "--steps=2",
                                            "--warm-up=1",
                                            "--skip=compile",
                                            "--python",
                                            kPython,
                                            "--scripts",
                                            kSource + "/bench/gpu_training",
                                            "--json",
                                            folder.path("figures.json")},
                                           kDeadline);
  EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
  return nlohmann::json::parse(folder.read("figures.json"));
}

class GpuTrainingPeers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPython)) GTEST_SKIP() << "there is no " << kPython;
  }
};

TEST_P(GpuTrainingPeers, MeasureLightPyTorchAndSheafOnTheCpu) {
  const auto figures = measure(GetParam());
  EXPECT_GT(figures.at("light").at("step_ms").get<double>(), 0);
  EXPECT_GT(figures.at("light").at("bursts").at("step_ms").get<double>(), 0);
  EXPECT_GT(figures.at("light").at("sustained").at("step_ms").get<double>(), 0);
  ASSERT_THAT(figures.at("sides"), ::testing::SizeIs(3));
  for (const auto& side : figures.at("sides")) {
    EXPECT_GT(side.at("tokens_per_second").get<double>(), 0);
    EXPECT_GT(side.at("first_step_s").get<double>(), 0);
    // Weights that know nothing begin at the logarithm of 256 tokens; one batch is learned fast.
    EXPECT_THAT(side.at("loss").get<double>(), AllOf(Gt(4), Lt(5.8)));
  }
  const auto& sides = figures.at("sides");
  for (const int peer : {0, 1}) {
    EXPECT_EQ(sides.at(peer).at("details").at("parameters"),
              sides.at(2).at("details").at("start").at("parameters"));
  }
  EXPECT_EQ(sides.at(0).at("details").at("attention"), "default");
}

INSTANTIATE_TEST_SUITE_P(
    Families,
    GpuTrainingPeers,
    ::testing::Values("gpt2-tiny-cpu", "smollm3-tiny-cpu"),
    [](const auto& each) {
      return std::string(each.param).substr(0, std::string(each.param).find('-'));
    });

}  // namespace
}  // namespace sheaf::bench
