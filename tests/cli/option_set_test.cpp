#include "cli/option_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../base/sample_options.h"

namespace sheaf::cli {
namespace {

using sample::SampleOptions;
using sample::Stage;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Arguments = std::vector<std::string>;

class OptionSetTest : public testing::Test {
 protected:
  OptionSetTest() { set.add("job", job); }

  SampleOptions job;
  OptionSet set;
};

TEST_F(OptionSetTest, ReadsAValueAfterASignOrASpace) {
  EXPECT_EQ(set.parse(Arguments{"--job.ranks=8", "--job.stage", "zero3"}), Request::run);
  EXPECT_EQ(job.ranks, 8);
  EXPECT_EQ(job.stage, Stage::zero3);
}

TEST_F(OptionSetTest, ReadsANegativeNumberAfterASpace) {
  EXPECT_EQ(set.parse(Arguments{"--job.seed", "-1"}), Request::run);
  EXPECT_EQ(job.seed, -1);
}

TEST_F(OptionSetTest, KeepsFurtherSignsInTheValue) {
  EXPECT_EQ(set.parse(Arguments{"--job.name=a=b"}), Request::run);
  EXPECT_EQ(job.name, "a=b");
}

TEST_F(OptionSetTest, TakesAnEmptyText) {
  EXPECT_EQ(set.parse(Arguments{"--job.name="}), Request::run);
  EXPECT_EQ(job.name, "");
}

TEST_F(OptionSetTest, LetsABooleanStandAlone) {
  EXPECT_EQ(set.parse(Arguments{"--job.enabled", "--job.ranks", "3"}), Request::run);
  EXPECT_TRUE(job.enabled);
}

TEST_F(OptionSetTest, LetsABooleanSayFalse) {
  job.enabled = true;
  EXPECT_EQ(set.parse(Arguments{"--job.enabled", "false"}), Request::run);
  EXPECT_FALSE(job.enabled);
  job.enabled = true;
  EXPECT_EQ(set.parse(Arguments{"--job.enabled=false"}), Request::run);
  EXPECT_FALSE(job.enabled);
}

TEST_F(OptionSetTest, ReadsFlagsAndValuesWithoutASection) {
  bool json = false;
  int ranks = 1;
  set.flag("json", json, "print JSON");
  set.value("ranks", ranks, "processes", at_least(1));
  EXPECT_EQ(set.parse(Arguments{"--json", "--ranks", "4"}), Request::run);
  EXPECT_TRUE(json);
  EXPECT_EQ(ranks, 4);
}

TEST_F(OptionSetTest, TakesARepeatedOptionAsOftenAsItIsGiven) {
  std::vector<std::string> prompts;
  set.repeated("prompt", prompts, "text");
  EXPECT_EQ(set.parse(Arguments{"--prompt", "a, b", "--job.ranks=2", "--prompt=", "--prompt=c=d"}),
            Request::run);
  EXPECT_THAT(prompts, ElementsAre("a, b", "", "c=d"));
  EXPECT_THAT(set.help("do", "does"), HasSubstr("--prompt TEXT ...  text, any number"));
}

TEST_F(OptionSetTest, FillsPositionalsInOrder) {
  std::string from;
  std::string to;
  set.positional("from", from, "source");
  set.positional("to", to, "target", Presence::optional);
  EXPECT_EQ(set.parse(Arguments{"a", "--job.ranks", "2", "-"}), Request::run);
  EXPECT_EQ(from, "a");
  EXPECT_EQ(to, "-");
}

TEST_F(OptionSetTest, PassesOnEverythingAfterTwoDashes) {
  std::vector<std::string> rest;
  set.rest(rest, "program");
  EXPECT_EQ(set.parse(Arguments{"--job.ranks=2", "--", "./a", "--help", "--", ""}), Request::run);
  EXPECT_THAT(rest, ElementsAre("./a", "--help", "--", ""));
}

TEST_F(OptionSetTest, LeavesTheRestEmptyWithoutDashes) {
  std::vector<std::string> rest;
  set.rest(rest, "program");
  EXPECT_EQ(set.parse(Arguments{}), Request::run);
  EXPECT_THAT(rest, IsEmpty());
}

TEST_F(OptionSetTest, LetsFlagsWinOverTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sheaf_option_set_test.toml";
  std::ofstream(path) << "[job]\nranks = 4\nname = \"file\"\n";
  set.config_file();
  EXPECT_EQ(set.parse(Arguments{"--job.ranks=8", path.string()}), Request::run);
  std::filesystem::remove(path);
  EXPECT_EQ(job.ranks, 8);
  EXPECT_EQ(job.name, "file");
}

TEST_F(OptionSetTest, NeedsNoFile) {
  set.config_file();
  EXPECT_EQ(set.parse(Arguments{"--job.ranks=8"}), Request::run);
  EXPECT_EQ(job.ranks, 8);
}

TEST_F(OptionSetTest, AsksForTheConfigurationAfterReadingEverything) {
  set.config_file();
  EXPECT_EQ(set.parse(Arguments{"--print-config", "--job.ranks=8"}), Request::print_config);
  EXPECT_EQ(job.ranks, 8);
}

TEST_F(OptionSetTest, AsksForHelpWhateverElseIsWrong) {
  EXPECT_EQ(set.parse(Arguments{"--nonsense", "--help"}), Request::help);
  EXPECT_EQ(set.parse(Arguments{"--job.ranks", "-h"}), Request::help);
}

TEST_F(OptionSetTest, ListsOptionsWithDefaultAndLimitInItsHelp) {
  std::string name;
  int nodes = 1;
  set.config_file();
  set.positional("name", name, "what to call it");
  set.value("nodes", nodes, "machines", at_least(1));
  const std::string help = set.help("launch", "start ranks");
  EXPECT_THAT(help,
              HasSubstr("usage: sheaf launch [options] [config.toml] <name>\n\nstart ranks\n"));
  EXPECT_THAT(help, HasSubstr("  name         what to call it\n"));
  EXPECT_THAT(help, HasSubstr("  --nodes N       machines (default 1; at least 1)\n"));
  EXPECT_THAT(help, HasSubstr("--job.enabled           whether it is on\n"));
  EXPECT_THAT(help,
              HasSubstr("(default \"zero1\"; ddp, zero1 or zero3; also FULL_SHARD for zero3)"));
}

}  // namespace
}  // namespace sheaf::cli
