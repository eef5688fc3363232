// Real programs under the real launchers: the same lines from each, and the same end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "support/run_command.h"
#include "torchrun.h"

namespace sheaf {
namespace {

using testing::CommandResult;
using ::testing::ContainsRegex;
using testing::describe;
using ::testing::ElementsAre;
using testing::find_torchrun;
using testing::kInstallTorchrun;
using testing::run_command;
using ::testing::SizeIs;
using Words = std::vector<std::string>;

constexpr const char* kInstallMpirun =
    "no Open MPI: install the package openmpi-bin, so that 'mpirun --version' says Open MPI";

bool has_open_mpi() {
  const auto version = run_command({"sh", "-c", "mpirun --version"});
  return version.exit_code == 0 && version.out.find("Open MPI") != std::string::npos;
}

Words sheaf_launch(const std::string& program) {
  return {SHEAF_PROGRAM, "launch", "--ranks", "4", "--", program};
}

// With --standalone it takes a free port, so that two runs on one machine do not meet.
Words torchrun(const std::string& torchrun_path, const std::string& program) {
  return {torchrun_path, "--standalone", "--no-python", "--nproc-per-node=4", program};
}

Words mpirun(const std::string& program) {
  Words words{"mpirun", "-n", "4", "--oversubscribe"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  // Seconds from SIGTERM to SIGKILL for the other ranks, which are to end by themselves. mpirun
  // sleeps that long, twice, even where they are gone at once.
  words.insert(words.end(), {"--mca", "odls_base_sigkill_timeout", "5", program});
  return words;
}

// Returns what `pattern`'s group matched, once per match.
Words matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::multiline);
  Words found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

void expect_hello(const Words& command) {
  const auto result = run_command(command);
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  // The launcher's own prefix is not part of the line.
  auto lines = matches(result.out, R"(^(?:\[\d\] )?(rank .*)$)");
  std::sort(lines.begin(), lines.end());
  EXPECT_THAT(lines,
              ElementsAre("rank 0 of 4: sum 10, sum of the even ranks 4",
                          "rank 1 of 4: sum 10, sum of the odd ranks 6",
                          "rank 2 of 4: sum 10, sum of the even ranks 4",
                          "rank 3 of 4: sum 10, sum of the odd ranks 6"))
      << describe(result);
}

// Waits until a process has ended: mpirun itself may end before its last rank does.
bool ends(const std::string& pid) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, std::stoi(pid), 0));
  if (handle < 0) return true;  // no process has this id any more
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  const bool in_time = poll(&ended, 1, /*timeout_ms=*/60'000) == 1;
  close(handle);
  return in_time;
}

void expect_all_ended(const CommandResult& result) {
  EXPECT_FALSE(result.timed_out) << describe(result);
  EXPECT_NE(result.exit_code, 0) << describe(result);
  const auto pids = matches(result.out, R"(rank \d is process (\d+)$)");
  EXPECT_THAT(pids, SizeIs(4)) << describe(result);
  for (const auto& pid : pids) EXPECT_TRUE(ends(pid)) << "process " << pid << " is still there";
}

void expect_survivors_name_rank_1(const CommandResult& result) {
  auto who = matches(result.err, R"(\[(\d)\] error main: rank 1 \(pid \d+ on .*\) ended during)");
  std::sort(who.begin(), who.end());
  EXPECT_THAT(who, ElementsAre("0", "2", "3")) << describe(result);
  EXPECT_THAT(matches(result.err, "a rank exits with (.*)$"), ElementsAre("1", "1", "1"))
      << describe(result);
}

TEST(Launchers, SheafLaunchRunsTheExample) { expect_hello(sheaf_launch(SHEAF_HELLO_GROUP)); }

// It knows nothing of our store and its secret.
TEST(Launchers, SheafLaunchRunsTorchDistributed) {
  const auto found = find_torchrun();
  if (!found) GTEST_SKIP() << kInstallTorchrun;
  const auto python = std::filesystem::path(*found).parent_path() / "python3";
  const std::string script =
      "import torch, torch.distributed as d; d.init_process_group('gloo'); "
      "x = torch.tensor([d.get_rank() + 1]); d.all_reduce(x); print('sum', x.item()); "
      "d.destroy_process_group()";
  const auto result =
      run_command({SHEAF_PROGRAM, "launch", "--ranks", "2", "--", python, "-c", script});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(matches(result.out, "(sum .*)$"), ElementsAre("sum 3", "sum 3")) << describe(result);
}

TEST(Launchers, TheExampleStartsItself) { expect_hello({SHEAF_HELLO_GROUP, "--ranks", "4"}); }

TEST(Launchers, TorchrunRunsTheExample) {
  const auto found = find_torchrun();
  if (!found) GTEST_SKIP() << kInstallTorchrun;
  expect_hello(torchrun(*found, SHEAF_HELLO_GROUP));
}

TEST(Launchers, MpirunRunsTheExample) {
  if (!has_open_mpi()) GTEST_SKIP() << kInstallMpirun;
  expect_hello(mpirun(SHEAF_HELLO_GROUP));
}

TEST(Launchers, SheafLaunchNamesTheKilledRankAndEndsTheOthers) {
  const auto result = run_command(sheaf_launch(SHEAF_FAILING_RANK));
  expect_all_ended(result);
  EXPECT_EQ(result.exit_code, 137) << describe(result);
  EXPECT_THAT(result.err, ContainsRegex("rank 1 [(]pid [0-9]+ on [^)]+[)] was killed by signal 9"));
}

TEST(Launchers, RanksUnderTorchrunNameTheKilledRankAndEnd) {
  const auto found = find_torchrun();
  if (!found) GTEST_SKIP() << kInstallTorchrun;
  const auto result = run_command(torchrun(*found, SHEAF_FAILING_RANK));
  expect_all_ended(result);
  expect_survivors_name_rank_1(result);
}

TEST(Launchers, RanksUnderMpirunNameTheKilledRankAndEnd) {
  if (!has_open_mpi()) GTEST_SKIP() << kInstallMpirun;
  const auto result = run_command(mpirun(SHEAF_FAILING_RANK));
  expect_all_ended(result);
  EXPECT_EQ(result.exit_code, 137) << describe(result);
  expect_survivors_name_rank_1(result);
}

TEST(RunCommand, KeepsOutputAndErrorsApart) {
  const auto result = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_code, 3);
}

TEST(RunCommand, KillsWhatDoesNotEndInTime) {
  const auto result = run_command({"sh", "-c", "sleep 1000; echo never"}, Seconds(0.1));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 137);
}

}  // namespace
}  // namespace sheaf
