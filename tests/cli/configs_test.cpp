// The configurations that come with sheaf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/commands.h"
#include "cli/program.h"
#include "sheaf/base/toml.h"
#include "sheaf/sharding/strategy.h"
#include "sheaf/train/options.h"

namespace sheaf::cli {
namespace {

class Configs : public testing::TestWithParam<std::string> {};

std::string path_of(const std::string& name) {
  return SHEAF_SOURCE_DIR "/configs/" + name + ".toml";
}

TEST_P(Configs, NameOptionsThatThereAre) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(),
                                    {"train", path_of(GetParam()), "--print-config"},
                                    Console{.out = out, .err = err});
  EXPECT_EQ(exit_code, 0) << err.str();
}

TEST_P(Configs, NameModelsAndStrategiesThatThereAre) {
  train::RunOptions options;
  auto fields = fields_of(options);
  read_toml_file(path_of(GetParam()), fields);
  EXPECT_GT(models::resolve(options.model).layers, 0);
  EXPECT_NO_THROW(static_cast<void>(sharding::parse_strategy(options.shard.stage)));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Configs,
    testing::Values("quickstart", "gpt2_124m", "gpt2_large", "smollm3_3b", "mnist_cnn"));

TEST(Configs, NameOptionsOfAStudy) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(),
                                    {"study", path_of("study_quick"), "--print-config"},
                                    Console{.out = out, .err = err});
  EXPECT_EQ(exit_code, 0) << err.str();
}

TEST(Configs, AreAllTested) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SHEAF_SOURCE_DIR "/configs")) {
    files += entry.path().extension() == ".toml" ? 1 : 0;
  }
  EXPECT_EQ(files, 6);
}

}  // namespace
}  // namespace sheaf::cli
