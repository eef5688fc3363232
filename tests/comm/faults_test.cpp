// What the other ranks see when one dies, hangs or never comes.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Runs three ranks of which number 1 is killed in its tenth call; returns how the others ended.
std::vector<RankOutcome> outcomes_of_a_kill(BackendKind backend) {
  return run_ranks_forked(3,
                          [](const Group& group) {
                            const at::Tensor tensor = at::ones({1000});
                            for (int i = 0; i < 100'000; ++i) {
                              if (group.rank() == 1 && i == 10) raise(SIGKILL);
                              group.all_reduce(tensor).wait();
                            }
                          },
                          {.backend = backend, .timeout = Seconds(60)});
}

class KilledRank : public ::testing::TestWithParam<BackendKind> {};

// The message says that the death was noticed; a time-out would read differently. How fast it is
// noticed is measured by bench/dead_peer.
TEST_P(KilledRank, IsNamedByTheOthers) {
  const auto outcomes = outcomes_of_a_kill(GetParam());
  EXPECT_EQ(outcomes[1].signal, SIGKILL);
  for (const int survivor : {0, 2}) {
    const RankOutcome& outcome = outcomes[static_cast<std::size_t>(survivor)];
    EXPECT_EQ(outcome.exit_code, 1) << "rank " << survivor << ", signal " << outcome.signal;
    EXPECT_THAT(outcome.error, HasSubstr("rank 1 (pid "));
    EXPECT_THAT(outcome.error, HasSubstr("ended during all_reduce"));
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         KilledRank,
                         ::testing::Values(BackendKind::shared, BackendKind::gloo),
                         [](const auto& way) { return std::string(enum_name(way.param)); });

/// Names of everything in /dev/shm.
std::vector<std::string> shared_memory_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns what is in /dev/shm only since ranks with shared memory were killed.
std::vector<std::string> left_by_killed_ranks() {
  const auto before = shared_memory_files();
  run_ranks_forked(3, [](const Group& group) {
    const at::Tensor tensor = group.shared_empty(1 << 20, at::kFloat);
    group.all_reduce(tensor).wait();
    raise(SIGKILL);
  });
  std::vector<std::string> left;
  std::ranges::set_difference(shared_memory_files(), before, std::back_inserter(left));
  return left;
}

TEST(KilledRank, LeavesNothingInSharedMemory) {
  auto left = left_by_killed_ranks();
  // Other programs put files there, too, but hardly each time.
  for (int again = 0; again < 2 && !left.empty(); ++again) left = left_by_killed_ranks();
  EXPECT_THAT(left, IsEmpty());
}

TEST(StoppedRank, IsNamedWhenTheTimeIsUp) {
  const auto outcomes =
      run_ranks_forked(3,
                       [](const Group& group) {
                         const at::Tensor pids = at::empty({3}, at::kLong);
                         group.all_gather(pids, at::full({1}, getpid(), at::kLong)).wait();
                         if (group.rank() == 2) raise(SIGSTOP);
                         try {
                           group.all_reduce(at::ones({1})).wait();
                         } catch (...) {
                           kill(pids[2].item<int>(), SIGKILL);
                           throw;
                         }
                       },
                       {.backend = BackendKind::shared, .timeout = Seconds(5)});
  const std::string errors = outcomes[0].error + outcomes[1].error;
  EXPECT_THAT(errors, HasSubstr("all_reduce timed out after 5.0 s: rank 2 (pid "));
  EXPECT_THAT(errors, HasSubstr("did not arrive"));
  EXPECT_EQ(outcomes[2].signal, SIGKILL);
}

}  // namespace
}  // namespace sheaf::comm
