// Runs the commands of docs/end_to_end.md, from a corpus to a text, with fewer steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/run_command.h"
#include "support/temporary_folder.h"
#include "torchrun.h"
#include "transformers_peer.h"

namespace sheaf::testing {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;

std::string read_page() {
  std::ifstream file(SHEAF_SOURCE_DIR "/docs/end_to_end.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the commands of a page: lines after "$ ", with those that continue them.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> commands;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("$ ")) continue;
    std::string command = line.substr(2);
    for (std::string more; command.ends_with('\\') && std::getline(lines, more);) {
      command = command.substr(0, command.size() - 1) + more;
    }
    commands.push_back(command);
  }
  return commands;
}

/// Returns the Python program of the page.
std::string program_of(const std::string& page) {
  const std::string fence = "```python\n";
  const auto begin = page.find(fence) + fence.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

/// The page has the program and Python of a checkout, and more steps than a test has time for.
std::string adapted(std::string command) {
  const auto python = std::filesystem::path(*find_torchrun()).parent_path() / "python3";
  command = std::regex_replace(command, std::regex("^build/sheaf"), SHEAF_PROGRAM);
  command = std::regex_replace(command, std::regex("^\\.deps/venv/bin/python3"), python.string());
  command = std::regex_replace(command, std::regex("--train.steps=\\d+"), "--train.steps=20");
  return std::regex_replace(command, std::regex(" src/"), " " SHEAF_SOURCE_DIR "/src/");
}

// The program and `sheaf generate` continue the same prompt with the same model.
TEST(EndToEnd, EveryCommandOfThePageWorksAndBothSidesWriteTheSameText) {
  if (const auto why = TransformersPeer::why_not(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const std::string page = read_page();
  folder.write("continue.py", program_of(page));
  const auto commands = commands_of(page);
  ASSERT_GE(commands.size(), 7U);
  std::vector<std::string> texts;
  for (const std::string& command : commands) {
    const CommandResult result = run_command({"env",
                                              "OMP_NUM_THREADS=1",
                                              "HF_HUB_OFFLINE=1",
                                              "TRANSFORMERS_VERBOSITY=error",
                                              "bash",
                                              "-c",
                                              "cd " + folder.path() + " && " + adapted(command)});
    ASSERT_EQ(result.exit_code, 0) << command << "\n" << describe(result);
    const bool is_greedy = command.find("--greedy") != std::string::npos;
    if (is_greedy || command.find("continue.py") != std::string::npos) texts.push_back(result.out);
  }
  ASSERT_THAT(texts, SizeIs(2));
  EXPECT_THAT(texts[0], StartsWith("ROMEO:"));
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
}  // namespace sheaf::testing
