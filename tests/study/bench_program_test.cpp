// `sheaf bench`, `sheaf sweep` and `sheaf compare` as users start them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

using nlohmann::json;
using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::vector<std::string> kSmall{"--model.preset=gpt2-tiny",
                                      "--model.layers=2",
                                      "--model.width=32",
                                      "--model.heads=2",
                                      "--model.context=16",
                                      "--data.source=stories",
                                      "--data.size=4000",
                                      "--batch.global=12"};

CommandResult run_sheaf(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.begin(), SHEAF_PROGRAM);
  words.insert(words.end(), kSmall.begin(), kSmall.end());
  words.insert(words.end(), more.begin(), more.end());
  return run_command(words, Seconds(400));
}

TEST(BenchProgram, ComparesStrategiesWithOneRank) {
  const CommandResult result =
      run_sheaf({"bench", "--ranks=2", "--steps=4"}, {"--strategies=ddp,zero3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json bench = json::parse(result.out);
  ASSERT_EQ(bench["strategies"].size(), 2);
  for (const json& row : bench["strategies"]) {
    EXPECT_EQ(row["weights_in_sync"], true);
    EXPECT_EQ(row["loss_agrees"], true);
    EXPECT_EQ(row["losses"].size(), 4);
    EXPECT_GT(row["traffic"]["bytes"], 0);
    EXPECT_GT(row["memory"]["measured"], 0);
    EXPECT_LT(std::abs(row["memory"]["error"].get<double>()), 0.2);
  }
}

TEST(BenchProgram, NamesTheRankWhoseGradientsAreWrong) {
  const CommandResult result =
      run_sheaf({"bench", "--ranks=3", "--steps=4"},
                {"--strategies=ddp", "--fault.inject=negate_gradients:rank=1:step=1:steps=4"});
  EXPECT_EQ(result.exit_code, 1) << describe(result);
  EXPECT_THAT(result.out, ContainsRegex("WRONG ddp: weights out of sync: rank 1 in unit"));
}

TEST(BenchProgram, SeesAWrongGradientInTheLossWhereWeightsAreCut) {
  const CommandResult result =
      run_sheaf({"bench", "--ranks=2", "--steps=6", "--optimizer.learning_rate=1e-2"},
                {"--strategies=zero3", "--fault.inject=negate_gradients:rank=1:step=1:steps=6"});
  EXPECT_EQ(result.exit_code, 1) << describe(result);
  EXPECT_THAT(result.out, HasSubstr("WRONG zero3: loss"));
}

TEST(BenchProgram, RunsPyTorchsStrategiesBesideOurs) {
  if (!std::filesystem::exists(SHEAF_PYTHON)) GTEST_SKIP() << "no Python with torch here";
  const CommandResult result =
      run_sheaf({"bench", "--ranks=2", "--steps=4", "--against=pytorch", "--python=" SHEAF_PYTHON},
                {"--strategies=ddp,zero1,zero2,zero3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json bench = json::parse(result.out);
  ASSERT_EQ(bench["pytorch"].size(), 4);
  for (const json& peer : bench["pytorch"]) {
    EXPECT_EQ(peer["weights_in_sync"], true);
    EXPECT_EQ(peer["loss_agrees"], true) << peer["losses"] << bench["baseline"]["losses"];
    EXPECT_EQ(peer["sheaf"].is_null(), false);
  }
}

TEST(BenchProgram, RefusesAComparisonThatWouldNotBeOne) {
  const CommandResult result =
      run_sheaf({"bench", "--ranks=2", "--against=pytorch"}, {"--precision.compute=bf16"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("fp32"));
}

TEST(BenchProgram, RefusesBatchesThatPyTorchWouldWeighOtherwise) {
  const CommandResult result = run_sheaf({"bench", "--ranks=5", "--against=pytorch"},
                                         {"--batch.uneven=true", "--strategies=ddp"});
  EXPECT_EQ(result.exit_code, 2) << describe(result);
  EXPECT_THAT(result.err, HasSubstr("batch.global must be a multiple of 5, got 12"));
}

TEST(SweepProgram, EndsWhereMemoryDoes) {
  const CommandResult result = run_sheaf({"sweep", "--steps=3"}, {"--memory.limit=2MiB", "--json"});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json sweep = json::parse(result.out);
  EXPECT_EQ(sweep["ended_by_memory"], true);
  const std::int64_t largest = sweep["largest"];
  EXPECT_GE(largest, 1);
  for (const json& row : sweep["rows"]) {
    EXPECT_EQ(row["ending"] == "finished", row["batch"] <= largest) << row;
  }
}

TEST(CompareProgram, PutsRunsSideBySide) {
  const TemporaryFolder folder;
  for (const char* stage : {"ddp", "zero3"}) {
    const CommandResult run =
        run_sheaf({"train", "--train.steps=3", "--train.sample_tokens=0"},
                  {"--shard.stage=" + std::string(stage), "--log.dir=" + folder.path(stage)});
    ASSERT_EQ(run.exit_code, 0) << describe(run);
  }
  const std::string page = folder.path("page.html");
  const CommandResult result = run_command(
      {SHEAF_PROGRAM, "compare", folder.path("ddp"), folder.path("zero3"), "--html=" + page});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(result.out, ContainsRegex("shard.stage +\"ddp\" +\"zero3\""));
  EXPECT_THAT(result.out, HasSubstr("█"));
  EXPECT_TRUE(std::filesystem::exists(page));
}

TEST(CompareProgram, NamesAFolderWithoutARun) {
  const TemporaryFolder folder;
  const CommandResult result = run_command({SHEAF_PROGRAM, "compare", folder.path("nothing")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("nothing"));
}

}  // namespace
}  // namespace sheaf::study
