#include "sheaf/checkpoint/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

std::vector<Scored> steps(const std::vector<std::int64_t>& numbers) {
  std::vector<Scored> all;
  for (const std::int64_t number : numbers) all.push_back({number, std::nullopt});
  return all;
}

TEST(CheckpointName, IsReadAsItIsWritten) {
  EXPECT_EQ(name_of_step(1000), "step-00001000");
  EXPECT_EQ(step_of_name("step-00001000"), 1000);
  EXPECT_EQ(step_of_name(name_of_step(123456789012)), 123456789012);
  for (const char* other :
       {"step-1000", "step-00001000.unfinished", "step--0000001", "latest", ""}) {
    EXPECT_EQ(step_of_name(other), std::nullopt) << other;
  }
}

TEST(CheckpointFolder, ListsStepsInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"step-00000200", "step-00000030", "step-00000040.unfinished", "other"}) {
    fs::create_directories(folder.path(name));
  }
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(30, 200));
  EXPECT_THAT(steps_in(folder.path("none")), IsEmpty());
}

TEST(CheckpointFolder, ThatCannotBeLookedAtIsNotEmpty) {
  const TemporaryFolder folder;
  // The system refuses to follow a link to itself.
  fs::create_symlink("loop", folder.path("loop"));
  EXPECT_THROW(static_cast<void>(steps_in(folder.path("loop"))), IoError);
}

TEST(CheckpointFolder, SaysWhatIsWrongWithLatest) {
  const TemporaryFolder folder;
  EXPECT_EQ(problem_with_latest(folder.path()), "");
  fs::create_directories(folder.path("step-00000001"));
  EXPECT_THAT(problem_with_latest(folder.path()), HasSubstr("there is no link"));
  fs::create_symlink("step-00000001", folder.path("latest"));
  EXPECT_EQ(problem_with_latest(folder.path()), "");
  fs::create_directories(folder.path("step-00000002"));
  EXPECT_THAT(problem_with_latest(folder.path()),
              HasSubstr("leads to step-00000001, and the newest checkpoint is step-00000002"));
  fs::remove(folder.path("latest"));
  folder.write("latest", "");
  EXPECT_THAT(problem_with_latest(folder.path()), HasSubstr("is no link"));
}

TEST(KeepPolicy, KeepsTheNewest) {
  EXPECT_THAT(steps_to_remove(steps({1, 2, 3, 4}), {.last = 2}), ElementsAre(1, 2));
  EXPECT_THAT(steps_to_remove(steps({1, 2}), {.last = 5}), IsEmpty());
  EXPECT_THAT(steps_to_remove(steps({1, 2, 3}), {.last = 0}), IsEmpty());
  EXPECT_THAT(steps_to_remove({}, {.last = 1}), IsEmpty());
}

TEST(KeepPolicy, KeepsMultiples) {
  EXPECT_THAT(steps_to_remove(steps({10, 15, 20, 25, 30}), {.last = 1, .every = 10}),
              ElementsAre(15, 25));
}

TEST(KeepPolicy, KeepsTheBest) {
  const std::vector<Scored> all{{1, 3.0}, {2, 1.0}, {3, std::nullopt}, {4, 2.0}};
  EXPECT_THAT(steps_to_remove(all, {.last = 1, .best = true}), ElementsAre(1, 3));
  EXPECT_THAT(steps_to_remove(all, {.last = 1}), ElementsAre(1, 2, 3));
}

TEST(CheckpointFolder, RemovesOnlyWhatWasLeftOver) {
  const TemporaryFolder folder;
  for (const char* name : {"step-00000001",
                           "step-00000002.unfinished",
                           "step-00000003.removed",
                           "step-00000004.damaged",
                           "mine.unfinished"}) {
    fs::create_directories(folder.path(name) + "/inside");
  }
  fs::create_symlink("step-00000002", folder.path("latest.unfinished"));
  remove_leftovers(folder.path());
  EXPECT_THAT(folder.names(),
              ElementsAre("mine.unfinished", "step-00000001", "step-00000004.damaged"));
}

TEST(CheckpointFolder, IsLockedByOneAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.path("new");
  {
    const FolderLock lock(path);
    EXPECT_THAT(error_of([&] { const FolderLock other(path); }), HasSubstr("another process"));
  }
  const FolderLock again(path);
}

}  // namespace
}  // namespace sheaf::checkpoint
