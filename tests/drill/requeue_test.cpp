// Schedulers and other launchers that end a run and start it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drill/small_run.h"
#include "drill/watched_run.h"
#include "launch/file_descriptor.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/launch/launcher.h"
#include "support/temporary_folder.h"

namespace sheaf::drill {
namespace {

using sheaf::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kForEver = 1'000'000'000;

std::vector<std::string> two_ranks(const TemporaryFolder& folder) {
  return small_run(
      SHEAF_PROGRAM,
      folder.path(),
      {"--ranks=2", "--checkpoint.every=1000", "--train.steps=" + std::to_string(kForEver)});
}

// Follows the run until it is over.
void follow_to_the_end(WatchedRun& run) {
  while (run.next().kind != Event::Kind::end) continue;
}

std::int64_t follow_to_step(WatchedRun& run, std::int64_t step) {
  while (true) {
    const Event event = run.next();
    if (event.kind == Event::Kind::end) return -1;
    if (event.kind == Event::Kind::step && event.step >= step) return event.step;
  }
}

class Requeue : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, Requeue, ::testing::Values(SIGTERM, SIGUSR1));

TEST_P(Requeue, SavesAndAsksToBeStartedAgainWhenTheLauncherIsTold) {
  const TemporaryFolder folder;
  WatchedRun run(two_ranks(folder), folder.path());
  run.start();
  ASSERT_GT(follow_to_step(run, 3), 0) << run.all_lines();
  ::kill(run.launcher(), GetParam());
  follow_to_the_end(run);
  EXPECT_EQ(run.exit_code(), launch::kRequeueCode) << run.all_lines();
  EXPECT_FALSE(checkpoint::steps_in(folder.path("saved")).empty());
}

TEST_P(Requeue, DoesTheSameWhenOneRankIsTold) {
  const TemporaryFolder folder;
  WatchedRun run(two_ranks(folder), folder.path());
  run.start();
  ASSERT_GT(follow_to_step(run, 3), 0) << run.all_lines();
  ::kill(ranks_of(run.launcher()).at(1), GetParam());
  follow_to_the_end(run);
  EXPECT_EQ(run.exit_code(), launch::kRequeueCode) << run.all_lines();
  EXPECT_FALSE(checkpoint::steps_in(folder.path("saved")).empty());
}

// Slurm signals every process of a step: the ranks hear it from Slurm and from their launcher.
TEST_P(Requeue, StandsBeingToldByEverybody) {
  const TemporaryFolder folder;
  WatchedRun run(two_ranks(folder), folder.path());
  run.start();
  ASSERT_GT(follow_to_step(run, 3), 0) << run.all_lines();
  for (const auto& [rank, pid] : ranks_of(run.launcher())) ::kill(pid, GetParam());
  ::kill(run.launcher(), GetParam());
  follow_to_the_end(run);
  EXPECT_EQ(run.exit_code(), launch::kRequeueCode) << run.all_lines();
  EXPECT_FALSE(checkpoint::steps_in(folder.path("saved")).empty());
}

// Who passes a signal on does not know which ranks have heard it and are leaving.
TEST_P(Requeue, StandsBeingToldUntilARankIsGone) {
  const TemporaryFolder folder;
  WatchedRun run(two_ranks(folder), folder.path());
  run.start();
  ASSERT_GT(follow_to_step(run, 3), 0) << run.all_lines();
  const auto ranks = ranks_of(run.launcher());
  const launch::FileDescriptor leaving(static_cast<int>(::syscall(SYS_pidfd_open, ranks.at(1), 0)));
  ASSERT_TRUE(leaving.is_open());
  ::kill(ranks.at(0), GetParam());
  pollfd ended{.fd = leaving.get(), .events = POLLIN, .revents = 0};
  while (::poll(&ended, 1, /*timeout=*/1) == 0) {
    ::syscall(SYS_pidfd_send_signal, leaving.get(), GetParam(), nullptr, 0);
  }
  follow_to_the_end(run);
  EXPECT_EQ(run.exit_code(), launch::kRequeueCode) << run.all_lines();
  EXPECT_THAT(run.all_lines(), Not(HasSubstr("error")));
}

TEST(Requeue, GoesOnWhereItStopped) {
  const TemporaryFolder folder;
  WatchedRun run(two_ranks(folder), folder.path());
  run.start();
  ASSERT_GT(follow_to_step(run, 3), 0) << run.all_lines();
  ::kill(run.launcher(), SIGTERM);
  follow_to_the_end(run);
  const auto saved = checkpoint::steps_in(folder.path("saved")).back();
  run.start();
  EXPECT_EQ(follow_to_step(run, 1), saved + 1) << run.all_lines();
}

TEST(Torchrun, StartsARunAgainThatGoesOn) {
  if (!std::filesystem::exists(SHEAF_TORCHRUN)) GTEST_SKIP() << "no torchrun here";
  const TemporaryFolder folder;
  std::vector<std::string> command{
      SHEAF_TORCHRUN, "--no-python", "--standalone", "--nproc-per-node=2", "--max-restarts=2"};
  for (const std::string& word :
       small_run(SHEAF_PROGRAM,
                 folder.path(),
                 {"--checkpoint.every=2", "--train.steps=" + std::to_string(kForEver)})) {
    command.push_back(word);
  }
  WatchedRun run(command, folder.path());
  run.start();
  const std::int64_t before = follow_to_step(run, 9);
  ASSERT_GT(before, 0) << run.all_lines();
  ::kill(ranks_of(run.launcher()).at(1), SIGKILL);
  Event event = run.next();
  while (event.kind != Event::Kind::start && event.kind != Event::Kind::end) event = run.next();
  ASSERT_EQ(event.kind, Event::Kind::start) << run.all_lines();
  EXPECT_GT(event.step, 0);
  EXPECT_GT(follow_to_step(run, before + 2), 0) << run.all_lines();
}

}  // namespace
}  // namespace sheaf::drill
