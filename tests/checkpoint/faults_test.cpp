// Disks that are full, read-only or broken: every rank says so, and nothing that was there is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>

#include "checkpoint/failing_disk.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace fs = std::filesystem;
using namespace sheaf::testing;

constexpr int kRanks = 3;

/// Returns how many operations each rank makes to save a sample.
std::vector<int> count_operations() {
  const TemporaryFolder folder;
  std::vector<int> counts(kRanks);
  comm::run_ranks(kRanks, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.disk = std::make_shared<FailingDisk>(
        [&](Operation, const std::string&) { ++counts[group.rank()]; });
    save_sample(options, 1);
  });
  return counts;
}

/// Saves step 2 beside step 1 while operation `number` of `rank` fails, perhaps in the background.
/// Returns how many ranks threw IoError with the reason.
int save_with_failure(const std::string& folder, int rank, int number, bool asynchronous) {
  std::atomic<int> refused{0};
  comm::run_ranks(kRanks, [&](const comm::Group& group) {
    int seen = 0;
    SaverOptions options = sample_options(folder, group);
    options.asynchronous = asynchronous;
    options.disk = std::make_shared<FailingDisk>([&](Operation, const std::string& path) {
      if (group.rank() == rank && seen++ == number) {
        throw IoError("cannot write a file (No space left on device): " + path);
      }
    });
    try {
      save_sample(options, 2);
    } catch (const IoError& error) {
      if (std::string(error.what()).find("No space left") != std::string::npos) ++refused;
    }
  });
  return refused;
}

class FailingOperation : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Asynchronous, FailingOperation, ::testing::Bool());

TEST_P(FailingOperation, IsAnErrorOfAllRanksAndLeavesNoHalfState) {
  const std::vector<int> counts = count_operations();
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_GT(counts[rank], 5);
    for (int number = 0; number < counts[rank]; ++number) {
      const TemporaryFolder folder;
      save_sample(folder.path(), 1, 2);
      EXPECT_EQ(save_with_failure(folder.path(), rank, number, GetParam()), kRanks)
          << "rank " << rank << ", operation " << number;
      // Only what fails after the folder is in its place leaves the new one; nothing leaves a part.
      const bool moved = folder.names().back() == "step-00000002";
      std::vector<std::string> names{"latest", "step-00000001"};
      if (moved) names.emplace_back("step-00000002");
      EXPECT_EQ(folder.names(), names) << "rank " << rank << ", operation " << number;
      EXPECT_EQ(restored_sample(folder.path()), moved ? 2 : 1);
    }
  }
}

TEST(FailingDisk, CanBeUsedAgainWhenThereIsRoom) {
  const TemporaryFolder folder;
  comm::run_ranks(2, [&](const comm::Group& group) {
    bool is_full = true;
    SaverOptions options = sample_options(folder.path(), group);
    options.disk = std::make_shared<FailingDisk>([&](Operation operation, const std::string&) {
      if (is_full && operation == Operation::write) throw IoError("No space left on device");
    });
    Saver saver(options);
    const auto save = [&](std::int64_t step) {
      const Contents contents = sample_contents(step);
      saver.start(contents, sample_parts(contents, group.rank(), group.size()));
      static_cast<void>(saver.wait());
    };
    EXPECT_THROW(save(1), IoError);
    EXPECT_FALSE(saver.busy());
    is_full = false;
    save(2);
  });
  EXPECT_EQ(restored_sample(folder.path()), 2);
}

TEST(FailingDisk, NamesTheRank) {
  const TemporaryFolder folder;
  comm::run_ranks(kRanks, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.disk = std::make_shared<FailingDisk>([&](Operation operation, const std::string& path) {
      if (group.rank() == 1 && operation == Operation::sync) throw IoError("quota: " + path);
    });
    EXPECT_THAT(error_of([&] { save_sample(options, 1); }), HasSubstr("rank 1: quota: "));
  });
}

/// Keeps which operations there were, on what.
class Operations {
 public:
  [[nodiscard]] std::shared_ptr<FailingDisk> disk() {
    return std::make_shared<FailingDisk>([this](Operation operation, const std::string& path) {
      seen.emplace_back(operation, fs::path(path).filename());
    });
  }

  std::vector<std::pair<Operation, std::string>> seen;
};

TEST(RemovedCheckpoint, LosesItsNameForGoodBeforeItsFiles) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("saved"));
  save_sample(folder.path("saved"), 1);
  Operations operations;
  remove_checkpoint(folder.path("saved"), 1, *operations.disk());
  EXPECT_THAT(operations.seen,
              ElementsAre(Pair(Operation::remove, "step-00000001.removed"),
                          Pair(Operation::rename, "step-00000001.removed"),
                          Pair(Operation::sync_folder, "saved"),
                          Pair(Operation::remove, "step-00000001.removed")));
}

TEST(MadeFolders, AreOnTheDiskOneByOne) {
  const TemporaryFolder folder;
  Operations operations;
  const std::string top = fs::path(folder.path()).filename();
  make_folders(folder.path("a/b/"), *operations.disk());
  EXPECT_THAT(operations.seen,
              ElementsAre(Pair(Operation::make_folder, "a"),
                          Pair(Operation::sync_folder, top),
                          Pair(Operation::make_folder, "b"),
                          Pair(Operation::sync_folder, "a")));
  make_folders(folder.path("a/b"), *operations.disk());
  EXPECT_EQ(operations.seen.size(), 4U);
}

TEST(WrittenFile, IsReadAgainOnlyAfterTheDiskHasIt) {
  const TemporaryFolder folder;
  Operations operations;
  comm::run_ranks(1, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.disk = operations.disk();
    save_sample(options, 1);
  });
  std::set<std::string> synced;
  int reads = 0;
  for (const auto& [operation, name] : operations.seen) {
    if (operation == Operation::sync) synced.insert(name);
    if (operation != Operation::read) continue;
    EXPECT_TRUE(synced.contains(name)) << name;
    ++reads;
  }
  EXPECT_GT(reads, 5);
}

TEST(RealDisk, SaysWhyItRefuses) {
  const TemporaryFolder folder;
  comm::run_ranks(2, [&](const comm::Group& group) {
    EXPECT_THAT(error_of([&] { save_sample(sample_options(folder.path("none"), group), 1); }),
                HasSubstr("No such file or directory"));
  });
  folder.write("file", "");
  comm::run_ranks(2, [&](const comm::Group& group) {
    EXPECT_THAT(error_of([&] { save_sample(sample_options(folder.path("file"), group), 1); }),
                HasSubstr("Not a directory"));
  });
}

}  // namespace
}  // namespace sheaf::checkpoint
