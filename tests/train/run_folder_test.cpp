#include "sheaf/train/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"

namespace sheaf::train {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() { options_.log.dir = folder_ + "/deep/inside"; }
  ~RunFolderTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "sheaf_run_" + std::to_string(::getpid());
  RunOptions options_;
};

TEST_F(RunFolderTest, KeepsTheOptionsSoThatTheRunCanBeRepeated) {
  options_.model.layers = 3;
  options_.shard.stage = "zero1:flat";
  options_.train.sample_prompt = "a \"b\"\n";
  static_cast<void>(open_run_folder(options_));
  RunOptions read;
  auto fields = fields_of(read);
  read_toml_file(options_.log.dir + "/config.toml", fields);
  EXPECT_EQ(write_toml(fields_of(read)), write_toml(fields_of(options_)));
}

TEST_F(RunFolderTest, WritesWhereTheRunTookPlace) {
  for (const auto& sink : open_run_folder(options_)) sink->start({.ranks = 3});
  std::ifstream file(options_.log.dir + "/environment.json");
  const auto environment = nlohmann::json::parse(file);
  EXPECT_EQ(environment["run"]["ranks"], 3);
  EXPECT_THAT(environment["command"][0].get<std::string>(), HasSubstr("test"));
}

TEST_F(RunFolderTest, LeavesTensorboardOutWhereNobodyWantsIt) {
  EXPECT_THAT(open_run_folder(options_), SizeIs(3));
  options_.log.tensorboard = false;
  EXPECT_THAT(open_run_folder(options_), SizeIs(2));
}

TEST_F(RunFolderTest, WritesNothingWithoutAFolder) {
  options_.log.dir = "";
  EXPECT_THAT(open_run_folder(options_), SizeIs(0));
}

TEST_F(RunFolderTest, SaysWhyTheFolderCannotBeMade) {
  options_.log.dir = "/proc/no_folder";
  EXPECT_THAT([&] { static_cast<void>(open_run_folder(options_)); },
              ThrowsMessage<IoError>(HasSubstr("/proc/no_folder")));
}

}  // namespace
}  // namespace sheaf::train
