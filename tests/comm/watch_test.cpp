// What happens when ranks call different things, or one of them does not come.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "comm/watch/stacks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Gathers three units one after the other.
void gather_units(const Group& group) {
  for (const char* unit : {"blocks.0", "blocks.1", "blocks.2"}) {
    group.all_gather(at::empty({group.size() * 4}), at::ones({4}), {.unit = unit}).wait();
  }
}

/// Rank 1 leaves out a unit.
Fate skip_a_unit(const CallNote& call) {
  return {.dropped = call.rank == 1 && call.unit == "blocks.1"};
}

class Divergence : public ::testing::TestWithParam<BackendKind> {};

TEST_P(Divergence, NamesRanksAndBothCallsWhenOneSkipsAUnit) {
  const std::string error = error_of(
      [] { run_ranks(3, gather_units, {.backend = GetParam(), .interference = skip_a_unit}); });
  EXPECT_THAT(error,
              AllOf(HasSubstr("rank 1 called all_gather of 48 bytes of Float for unit blocks.2"),
                    HasSubstr("called all_gather of 48 bytes of Float for unit blocks.1"),
                    HasSubstr("as exchange 1 of group world")));
  EXPECT_THAT(error, ContainsRegex("found [0-9.]+ (s|ms|us) after the first of them"));
}

INSTANTIATE_TEST_SUITE_P(All,
                         Divergence,
                         ::testing::Values(BackendKind::shared, BackendKind::gloo),
                         [](const auto& way) { return std::string(enum_name(way.param)); });

TEST(Divergence, IsFoundBeforeAnythingMovesInFullMode) {
  const std::string error = error_of([] {
    run_ranks(2,
              [](const Group& group) {
                const at::Tensor tensor = at::ones({group.rank() == 1 ? 5 : 4});
                try {
                  group.all_reduce(tensor).wait();
                } catch (const WatchError&) {
                  sheaf::testing::require_equal(tensor, at::ones_like(tensor), "the tensor");
                  throw;
                }
              },
              {.watch = {.check = Check::full}});
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("rank 0 called all_reduce of 16 bytes"),
                    HasSubstr("rank 1 called all_reduce of 20 bytes"),
                    HasSubstr("before anything was exchanged")));
}

TEST(Divergence, EndsTheGroupForGood) {
  run_ranks(2, [](const Group& group) {
    const auto differ = [&] { group.all_reduce(at::ones({group.rank() + 1})).wait(); };
    const std::string first = error_of(differ);
    const std::string later = error_of([&] { group.barrier().wait(); });
    EXPECT_EQ(first, later);
  });
}

TEST(Divergence, IsNotSeenWhereAmountsMayDiffer) {
  run_ranks(2, [](const Group& group) {
    const std::int64_t own = group.rank() + 1;
    const std::vector<std::int64_t> give(2, own);
    group
        .all_to_all(
            at::empty({3}), at::ones({2 * own}), {.input_splits = give, .output_splits = {1, 2}})
        .wait();
  });
}

/// Stops rank 2 before a call for a unit, and returns how the ranks ended.
std::vector<RankOutcome> outcomes_of_a_stop(const std::string& folder) {
  return run_ranks_forked(
      3,
      [](const Group& group) {
        const at::Tensor pids = at::empty({3}, at::kLong);
        group.all_gather(pids, at::full({1}, getpid(), at::kLong)).wait();
        if (group.rank() == 2) raise(SIGSTOP);
        try {
          group.all_reduce(at::ones({4}), {.unit = "blocks.1"}).wait();
        } catch (...) {
          kill(pids[2].item<int>(), SIGKILL);
          throw;
        }
      },
      {.backend = BackendKind::shared, .watch = {.timeout = Seconds(3), .folder = folder}});
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Hang, NamesTheStoppedRankAndTheCall) {
  const TemporaryFolder folder;
  const auto outcomes = outcomes_of_a_stop(folder.path());
  for (const int survivor : {0, 1}) {
    const RankOutcome& outcome = outcomes[static_cast<std::size_t>(survivor)];
    EXPECT_EQ(outcome.exit_code, kWatchExitCode);
    EXPECT_THAT(outcome.error,
                ContainsRegex("all_reduce of 16 bytes of Float for unit blocks.1, exchange 1 of "
                              "group world, has waited [0-9.]+ s for rank 2 .pid"));
    EXPECT_THAT(outcome.error,
                HasSubstr("which is stopped by a signal and last called all_gather"));
  }
}

TEST(Hang, LeavesCallsAndStacksOfEveryRank) {
  const TemporaryFolder folder;
  static_cast<void>(outcomes_of_a_stop(folder.path()));
  for (const char* rank : {"0", "1"}) {
    const std::string report = text_of(folder.path() + "/watch-rank-" + rank + ".txt");
    EXPECT_THAT(report,
                AllOf(HasSubstr("all_reduce of 16 bytes of Float for unit blocks.1"),
                      HasSubstr("running for"),
                      HasSubstr("(sheaf-watch)")));
  }
  EXPECT_THAT(
      text_of(folder.path() + "/watch-rank-2.txt"),
      AllOf(HasSubstr("which is stopped by a signal"), HasSubstr("all_gather of 24 bytes")));
}

TEST(Stacks, NameEveryThread) {
  constexpr const char* kNoAnswer = "does not answer";
  std::promise<void> named;
  std::promise<void> done;
  std::thread waiter([&] {
    pthread_setname_np(pthread_self(), "waiter");
    named.set_value();
    done.get_future().wait();
  });
  named.get_future().wait();
  std::string stacks = stacks_of_all_threads();
  // Where cores are busy, a thread may be too late with its answer, but hardly each time.
  for (int again = 0; again < 4 && stacks.find(kNoAnswer) != std::string::npos; ++again) {
    stacks = stacks_of_all_threads();
  }
  done.set_value();
  waiter.join();
  EXPECT_THAT(stacks, AllOf(HasSubstr("(waiter)"), Not(HasSubstr(kNoAnswer))));
}

}  // namespace
}  // namespace sheaf::comm
