#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_command.h"
#include "sheaf/base/error.h"

namespace sheaf::cli {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(OptionSet, NamesAWrongValueWithItsFlag) {
  for (const auto& bad : sample::bad_values()) {
    const Outcome outcome = run_fake({"launch", "--job." + bad.key + "=" + bad.text});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("sheaf launch: --job." + bad.key + ": "));
    EXPECT_THAT(outcome.err, EndsWith(bad.message + "\n"));
  }
}

struct BadLine {
  std::vector<std::string> arguments;
  std::string message;
};

const std::vector<BadLine> kBadLines = {
    {{"--node", "2"}, "unknown option --node, did you mean --nodes?"},
    {{"--ranks=2"}, "unknown option --ranks, did you mean --job.ranks?"},
    {{"--temperature"}, "unknown option --temperature"},
    {{"-j"}, "unknown option -j"},
    {{"-nodes=2"}, "unknown option -nodes, did you mean --nodes?"},
    {{"--=3"}, "unknown option --"},
    {{"--job"}, "unknown option --job"},
    {{"--hlep"}, "unknown option --hlep, did you mean --help?"},
    {{"--nodes"}, "--nodes: expected an integer, got nothing"},
    {{"--nodes", "--json"}, "--nodes: expected an integer, got nothing"},
    {{"--job.timeout", "--", "x"},
     "--job.timeout: expected a time such as 30s or 5min, got nothing"},
    {{"--nodes=0"}, "--nodes: must be at least 1, got 0"},
    {{"--json=maybe"}, "--json: expected true or false, got 'maybe'"},
    {{"--nodes=2", "--nodes", "4"}, "--nodes: can be given once, got '2' and '4'"},
    {{"--json", "--json"}, "--json: can be given once, got 'true' and 'true'"},
    {{"a.toml", "./program"}, "unexpected argument './program', did you forget -- before it?"},
    {{""}, "unexpected argument ''"},
    {{"/nowhere.toml"}, "/nowhere.toml: No such file or directory"}};

TEST(OptionSet, SaysWhatIsWrongWithALine) {
  for (auto [arguments, message] : kBadLines) {
    arguments.insert(arguments.begin(), "launch");
    const Outcome outcome = run_fake(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "sheaf launch: " + message + "\n");
  }
}

TEST(OptionSet, RefusesDashesWhenNothingCanFollow) {
  OptionSet set;
  EXPECT_THROW(static_cast<void>(set.parse(std::vector<std::string>{"--", "x"})), UsageError);
}

TEST(OptionSet, NamesAMissingArgument) {
  OptionSet set;
  std::string name;
  set.positional("name", name, "what to call it");
  try {
    static_cast<void>(set.parse(std::vector<std::string>{}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "missing argument name: what to call it");
  }
}

TEST(OptionSet, RefusesPrintConfigWithoutAConfiguration) {
  OptionSet set;
  EXPECT_THROW(static_cast<void>(set.parse(std::vector<std::string>{"--print-config"})),
               UsageError);
}

}  // namespace
}  // namespace sheaf::cli
