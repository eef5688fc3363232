#include "sheaf/launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launch/launcher_process.h"
#include "launch/store_host.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Launcher, GivesEveryRankItsVariables) {
  const auto result = run_launcher(
      bash(2,
           "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE "
           "$MASTER_ADDR $TORCHELASTIC_USE_AGENT_STORE $TORCHELASTIC_RESTART_COUNT"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(sorted_lines(result.out),
              testing::ElementsAre("[0] 0 0 2 2 0 1 127.0.0.1 False 0",
                                   "[1] 1 1 2 2 0 1 127.0.0.1 False 0"));
}

TEST(Launcher, KeepsTheStreamsApart) {
  const auto result = run_launcher(bash(1, "echo text; echo trouble >&2"));
  EXPECT_EQ(result.out, "[0] text\n");
  EXPECT_EQ(result.err, "[0] trouble\n");
}

TEST(Launcher, NeverMixesPartialLinesOfTwoRanks) {
  const TemporaryFolder folder;
  const auto a = folder.file("a");
  const auto b = folder.file("b");
  const auto result =
      run_launcher(bash(2,
                        "if [ $RANK = 0 ]; then printf aa; touch " + a + "; " + wait_for(b) +
                            "echo bb; else " + wait_for(a) + "echo whole; touch " + b + "; fi"));
  EXPECT_THAT(sorted_lines(result.out), testing::ElementsAre("[0] aabb", "[1] whole"));
}

TEST(Launcher, CompletesALastLineWithoutAnEnd) {
  EXPECT_EQ(run_launcher(bash(1, "printf bye")).out, "[0] bye\n");
}

TEST(Launcher, LosesNoOutputOfARankThatEnds) {
  const auto result = run_launcher(bash(2, "seq 1 40000"));
  const auto lines = std::count(result.out.begin(), result.out.end(), '\n');
  EXPECT_EQ(lines, 80000);
  EXPECT_THAT(result.out, HasSubstr("[0] 40000\n"));
  EXPECT_THAT(result.out, HasSubstr("[1] 40000\n"));
}

TEST(Launcher, RunsSixteenRanks) {
  const auto result = run_launcher(bash(16, "echo here"));
  EXPECT_EQ(result.code, 0) << result.err;
  const auto lines = sorted_lines(result.out);
  EXPECT_EQ(lines.size(), 16U);
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_THAT(lines, testing::Contains("[" + std::to_string(rank) + "] here"));
  }
}

TEST(Launcher, GivesRanksAnEmptyInputAndACleanSignalMask) {
  const auto result = run_launcher(bash(1, "readlink /proc/$$/fd/0; grep SigBlk /proc/$$/status"));
  EXPECT_EQ(result.out, "[0] /dev/null\n[0] SigBlk:\t0000000000000000\n");
}

TEST(Launcher, LetsTheFirstRankWriteByItselfOnRequest) {
  auto options = bash(2, "readlink /proc/$$/fd/1");
  options.output = Output::first_rank_plain;
  const auto lines = sorted_lines(run_launcher(options).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], StartsWith("/"));
  EXPECT_THAT(lines[1], StartsWith("[1] pipe:"));
}

TEST(Launcher, WritesOneLogPerRankWithoutPrefixes) {
  const TemporaryFolder folder;
  auto options = bash(2, "echo text $RANK; echo trouble $RANK >&2");
  options.log_dir = folder.file("made/for/it");
  EXPECT_EQ(run_launcher(options).code, 0);
  EXPECT_THAT(sorted_lines(folder.read("made/for/it/rank_0.log")),
              testing::ElementsAre("text 0", "trouble 0"));
  EXPECT_THAT(sorted_lines(folder.read("made/for/it/rank_1.log")),
              testing::ElementsAre("text 1", "trouble 1"));
}

TEST(Launcher, LogsAFirstRankThatIsPlain) {
  const TemporaryFolder folder;
  auto options = bash(1, "echo text");
  options.output = Output::first_rank_plain;
  options.log_dir = folder.file("logs");
  EXPECT_EQ(run_launcher(options).out, "text\n");
  EXPECT_EQ(folder.read("logs/rank_0.log"), "text\n");
}

TEST(Launcher, GoesOnWhenAGrandchildKeepsThePipe) {
  const auto result = run_launcher(bash(1, "sleep 1000 & echo $!"));
  EXPECT_EQ(result.code, 0) << result.err;
  int grandchild = 0;
  ASSERT_EQ(std::sscanf(result.out.c_str(), "[0] %d", &grandchild), 1) << result.out;
  EXPECT_FALSE(is_gone(grandchild));
  ::kill(grandchild, SIGKILL);
}

struct BadOptions {
  LaunchOptions options;
  std::string message;
};

const std::vector<BadOptions> kBadOptions = {
    {{.ranks = 0, .command = {"true"}}, "the number of ranks must be at least 1, not 0"},
    {{.nodes = -1, .command = {"true"}}, "the number of nodes must be at least 1, not -1"},
    {{.node_rank = 1, .command = {"true"}}, "the node rank must be from 0 to 0, not 1"},
    {{.node_rank = -1, .command = {"true"}}, "the node rank must be from 0 to 0, not -1"},
    {{.nodes = 2, .command = {"true"}}, "several nodes need an endpoint"},
    {{.endpoint = "nowhere", .command = {"true"}}, "the endpoint must be HOST:PORT"},
    {{.command = {}}, "there is no program to start"},
    {{.command = {"no-such-program"}}, "no such program in PATH: no-such-program"},
    {{.command = {"/etc/passwd"}}, "not an executable file: /etc/passwd"},
    {{.log_dir = "/dev/null/logs", .command = {"true"}}, "cannot create the log folder ("},
    {{.log_dir = "/proc/self", .command = {"true"}}, "cannot write a log file ("},
};

TEST(Launcher, RefusesWhatCannotBe) {
  for (const auto& [options, message] : kBadOptions) {
    try {
      ADD_FAILURE() << "accepted with code " << launch(options) << ": " << message;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(Launcher, RefusesAPortThatIsTaken) {
  const auto taken = StoreHost::serve({}, StoreHost::Reach::this_machine);
  const auto port = std::to_string(taken.port());
  const auto result =
      run_launcher({.ranks = 1, .endpoint = "127.0.0.1:" + port, .command = {"true"}});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot listen on port " + port));
  EXPECT_THAT(result.err, HasSubstr("choose another port"));
}

TEST(Launcher, RefusesAProgramThatCannotBeExecuted) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("script")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(folder.file("script"), std::filesystem::perms::owner_all);
  const auto result = run_launcher({.ranks = 2, .command = {folder.file("script")}});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot execute the program (No such file"));
}

TEST(Launcher, RefusesRanksWithoutTheSecret) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto result = run_launcher({.ranks = 1, .command = {self, "--role=meet-without-secret"}});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("[0] the store refused to let this join"));
  EXPECT_THAT(result.err, testing::ContainsRegex("warning store: refused 127.0.0.1:[0-9]+, which"));
}

TEST(Launcher, MakesAnotherSecretForEveryRun) {
  const auto first = run_launcher(bash(2, "echo $SHEAF_SECRET"));
  const auto second = run_launcher(bash(2, "echo $SHEAF_SECRET"));
  const auto lines = sorted_lines(first.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], testing::MatchesRegex("\\[0\\] [0-9a-f]{64}"));
  EXPECT_EQ(lines[0].substr(4), lines[1].substr(4));
  EXPECT_NE(lines, sorted_lines(second.out));
}

TEST(Launcher, HostsTheStoreInWhichRanksMeet) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto result = run_launcher({.ranks = 3, .command = {self, "--role=meet-in-store"}});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("[2] met the others\n"));
}

}  // namespace
}  // namespace sheaf::launch
