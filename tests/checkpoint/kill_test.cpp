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

using ::testing::AnyOf;
using ::testing::ElementsAre;
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

/// Saves steps 2 and 3 and removes step 2, and is killed at operation `number` of rank `rank`.
void save_until_killed(const comm::Group& group,
                       const std::string& folder,
                       int rank,
                       int number,
                       std::atomic<int>& operations) {
  int seen = 0;
  SaverOptions options = sample_options(folder, group);
  options.asynchronous = number % 2 == 0;
  options.disk = std::make_shared<FailingDisk>([&](Operation, const std::string&) {
    if (group.rank() == 0) ++operations;
    if (group.rank() == rank && seen++ == number) ::raise(SIGKILL);
  });
  save_sample(options, 2);
  save_sample(options, 3);
  if (group.rank() == 0) remove_checkpoint(folder, 2);
}

TEST(KilledWriter, NeverLeavesAHalfStateNorLosesAWholeOne) {
  SharedNumber operations;
  {
    const TemporaryFolder folder;
    comm::run_ranks_forked(kRanks, [&](const comm::Group& group) {
      save_until_killed(group, folder.path(), /*rank=*/-1, 0, *operations);
    });
  }
  const int most = *operations;
  ASSERT_GT(most, 50);
  std::mt19937 random(9);
  int num_new = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const TemporaryFolder folder;
    save_sample(folder.path(), 1, 1);
    const int rank = static_cast<int>(random() % kRanks);
    const int number = static_cast<int>(random() % most);
    comm::run_ranks_forked(kRanks,
                           [&](const comm::Group& group) {
                             save_until_killed(group, folder.path(), rank, number, *operations);
                           },
                           {.timeout = Seconds(20)});
    const std::int64_t step = restored_sample(folder.path());
    ASSERT_THAT(step, AnyOf(1, 2, 3)) << "rank " << rank << ", operation " << number;
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
