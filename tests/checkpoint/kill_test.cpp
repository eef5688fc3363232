// Processes that are killed while they save: what was there stays, what is new is there whole or
// not at all, and the next start cleans up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <random>

#include "checkpoint/failing_disk.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using namespace sheaf::testing;

constexpr int kKills = 200;
constexpr int kRanks = 2;

/// A number that forked processes share.
class SharedNumber {
 public:
  SharedNumber() {
    void* memory = ::mmap(nullptr,
                          sizeof(std::atomic<int>),
                          PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS,
                          -1,
                          0);
    require(memory != MAP_FAILED, "no shared memory");
    value_ = new (memory) std::atomic<int>(0);
  }
  ~SharedNumber() { ::munmap(value_, sizeof(*value_)); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;

  std::atomic<int>& operator*() { return *value_; }

 private:
  std::atomic<int>* value_ = nullptr;
};

/// When to kill: at operation `number` of rank `rank`.
struct Kill {
  int rank = -1;
  int number = 0;
};

/// What is known of processes that were killed.
struct Known {
  SharedNumber operations;
  /// The last step that was said to be saved.
  SharedNumber published;
};

/// Saves steps 2 and 3 and removes steps 1 and 2, and is killed on the way.
void save_until_killed(const comm::Group& group,
                       const std::string& folder,
                       const Kill& kill,
                       Known& known) {
  int seen = 0;
  SaverOptions options = sample_options(folder, group);
  options.asynchronous = kill.number % 2 == 0;
  options.disk = std::make_shared<FailingDisk>([&](Operation, const std::string&) {
    if (group.rank() == 0) ++*known.operations;
    if (group.rank() == kill.rank && seen++ == kill.number) ::raise(SIGKILL);
  });
  options.published = [&](std::int64_t step) { *known.published = static_cast<int>(step); };
  for (const std::int64_t step : {2, 3}) {
    save_sample(options, step);
    if (group.rank() == 0) remove_checkpoint(folder, step - 1, *options.disk);
  }
}

TEST(KilledWriter, NeverLeavesAHalfStateNorLosesAWholeOne) {
  int most = 0;
  {
    Known known;
    const TemporaryFolder folder;
    save_sample(folder.path(), 1, 1);
    comm::run_ranks_forked(kRanks, [&](const comm::Group& group) {
      save_until_killed(group, folder.path(), {}, known);
    });
    most = *known.operations;
    ASSERT_EQ(*known.published, 3);
  }
  ASSERT_GT(most, 50);
  std::mt19937 random(9);
  int num_new = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const TemporaryFolder folder;
    save_sample(folder.path(), 1, 1);
    Known known;
    *known.published = 1;
    const Kill when{.rank = static_cast<int>(random() % kRanks),
                    .number = static_cast<int>(random() % most)};
    comm::run_ranks_forked(
        kRanks,
        [&](const comm::Group& group) { save_until_killed(group, folder.path(), when, known); },
        {.timeout = Seconds(20)});
    const std::int64_t step = restored_sample(folder.path());
    ASSERT_GE(step, *known.published) << "rank " << when.rank << ", operation " << when.number;
    ASSERT_LE(step, 3);
    num_new += step > 1 ? 1 : 0;
    for (const std::string& name : folder.names()) {
      EXPECT_TRUE(name == ".lock" || name == "latest" || step_of_name(name)) << name;
    }
    // A new run can save where the killed one could not.
    save_sample(folder.path(), 9, 1);
    ASSERT_EQ(restored_sample(folder.path()), 9);
  }
  // Otherwise the kills came too early or too late to mean anything.
  EXPECT_GT(num_new, kKills / 10);
  EXPECT_LT(num_new, kKills * 9 / 10);
}

}  // namespace
}  // namespace sheaf::checkpoint
