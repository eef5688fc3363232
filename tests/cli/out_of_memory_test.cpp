// A run that has too little memory says what to do, and what it says is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/run_command.h"

namespace sheaf::cli {
namespace {

using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// A narrow model, whose activations cost little time, with so many texts that these are beyond a
/// GiB.
CommandResult train(const std::vector<std::string>& changes) {
  std::vector<std::string> command{SHEAF_PROGRAM,
                                   "train",
                                   "--memory.limit=1GiB",
                                   "--model.preset=gpt2-tiny",
                                   "--model.layers=8",
                                   "--model.width=64",
                                   "--model.heads=2",
                                   "--data.source=random",
                                   "--data.size=262144",
                                   "--batch.global=768",
                                   "--shard.stage=ddp",
                                   "--train.steps=3",
                                   "--train.evaluate=false",
                                   "--train.sample_tokens=0",
                                   "--ranks=2"};
  for (const std::string& change : changes) {
    const std::string name = change.substr(0, change.find('='));
    std::erase_if(command, [&](const std::string& word) { return word.starts_with(name + "="); });
    command.push_back(change);
  }
  return run_command(command);
}

/// Returns the flags of each proposal: they stand first in their line.
std::vector<std::vector<std::string>> proposals(const std::string& text) {
  std::vector<std::vector<std::string>> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find("  --");
    if (begin == std::string::npos) continue;
    std::vector<std::string> flags;
    std::istringstream words(line.substr(begin));
    for (std::string word; words >> word && word.starts_with("--");) flags.push_back(word);
    // Both ranks may tell.
    if (std::ranges::find(all, flags) == all.end()) all.push_back(flags);
  }
  return all;
}

TEST(OutOfMemory, NamesTheLargestHolderAndProposesWhatWorks) {
  const CommandResult refused = train({});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("below the limit of 1.0 GiB"));
  EXPECT_THAT(refused.err, ContainsRegex("most was held by activations of blocks 0-[0-9]"));
  EXPECT_THAT(refused.err, HasSubstr("what held the memory of this rank"));
  const auto ways = proposals(refused.err);
  ASSERT_EQ(ways.size(), 3U) << refused.err;
  for (const auto& flags : ways) {
    const CommandResult followed = train(flags);
    EXPECT_EQ(followed.exit_code, 0) << ::testing::PrintToString(flags) << "\n" << followed.err;
  }
}

// Under a limit of the system: the first tensor of the model is larger than it.
TEST(OutOfMemory, IsToldWithoutALimitOfSheafs) {
  const std::string train = SHEAF_PROGRAM
      " train --model.preset=gpt2-tiny --model.layers=1 --model.width=1024 --model.heads=2 "
      "--model.context=64 --data.source=random --data.size=4194304 --batch.global=131072 "
      "--train.steps=1 --train.evaluate=false --train.sample_tokens=0";
  const CommandResult refused =
      run_command({"/bin/bash", "-c", "ulimit -v 33554432 && exec " + train});
  EXPECT_EQ(refused.exit_code, 1) << describe(refused);
  EXPECT_THAT(refused.err, HasSubstr("32.0 GiB more do not fit beside the"));
  EXPECT_THAT(refused.err, HasSubstr("no memory limit was set"));
  EXPECT_THAT(refused.err, HasSubstr("what held the memory of this rank"));
}

}  // namespace
}  // namespace sheaf::cli
