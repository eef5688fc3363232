// Which checkpoint a run goes on from, and what becomes of those that it passes over.
#include "sheaf/checkpoint/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/future_manifest.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace sheaf::testing;

constexpr const char* kManifest2 = "step-00000002/manifest.json";

/// Two checkpoints, of steps 1 and 2.
class TwoCheckpoints : public ::testing::Test {
 protected:
  TwoCheckpoints() {
    save_sample(folder_.path(), 1);
    save_sample(folder_.path(), 2);
  }

  TemporaryFolder folder_;
};

TEST_F(TwoCheckpoints, KeepEveryDamagedOne) {
  for (int round = 0; round < 3; ++round) {
    fs::remove(folder_.path(kManifest2));
    EXPECT_EQ(restored_sample(folder_.path()), 1);
    save_sample(folder_.path(), 2);
  }
  EXPECT_THAT(folder_.names(),
              ElementsAre(".lock",
                          "latest",
                          "step-00000001",
                          "step-00000002",
                          "step-00000002.damaged",
                          "step-00000002.damaged-2",
                          "step-00000002.damaged-3"));
}

TEST_F(TwoCheckpoints, LeaveALinkToTheLoadedOne) {
  fs::remove(folder_.path(kManifest2));
  EXPECT_EQ(restored_sample(folder_.path()), 1);
  EXPECT_EQ(fs::read_symlink(folder_.path("latest")), "step-00000001");
}

TEST_F(TwoCheckpoints, AreTakenWhateverHasTheNameOfTheLink) {
  fs::remove(folder_.path("latest"));
  fs::create_directory(folder_.path("latest"));
  EXPECT_EQ(restored_sample(folder_.path()), 2);
}

TEST_F(TwoCheckpoints, MakeRoomWhereOneCannotBeRead) {
  // A link to itself: the system refuses to follow it.
  const std::string file = folder_.path("step-00000002/config.json");
  fs::remove(file);
  fs::create_symlink(file, file);
  EXPECT_EQ(restored_sample(folder_.path()), 1);
  EXPECT_TRUE(fs::exists(folder_.path("step-00000002.unreadable")));
  save_sample(folder_.path(), 2);
  EXPECT_EQ(restored_sample(folder_.path()), 2);
}

TEST_F(TwoCheckpoints, MakeRoomWhereARankCannotReadOne) {
  comm::run_ranks(2, [&](const comm::Group& group) {
    const auto step = restore_newest(folder_.path(), group, [&](const Reader& reader) {
      if (group.rank() == 1 && reader.manifest().step == 2) throw IoError("cannot read");
    });
    require(step == 1, "the checkpoint that one rank could not read was taken");
  });
  EXPECT_TRUE(fs::exists(folder_.path("step-00000002.unreadable")));
}

TEST_F(TwoCheckpoints, LeaveOneOfALaterVersionAsItIs) {
  folder_.write(kManifest2, future_manifest(folder_.read(kManifest2)));
  EXPECT_EQ(restored_sample(folder_.path()), 1);
  EXPECT_TRUE(fs::exists(folder_.path("step-00000002")));
  EXPECT_THAT(error_of([&] { save_sample(folder_.path(), 2); }),
              HasSubstr("a checkpoint of this step is there already"));
  EXPECT_THROW(Reader(folder_.path("step-00000002")), UnknownVersion);
}

TEST_F(TwoCheckpoints, AreNotTakenUnderTheNameOfAnotherStep) {
  fs::rename(folder_.path("step-00000002"), folder_.path("step-00000003"));
  EXPECT_EQ(restored_sample(folder_.path()), 1);
  fs::create_directory_symlink("step-00000001", folder_.path("step-00000004"));
  EXPECT_THAT(error_of([&] { static_cast<void>(open_step(folder_.path("step-00000004/"))); }),
              HasSubstr("it was saved at step 1"));
  EXPECT_EQ(open_step(folder_.path("latest")).manifest().step, 1);
}

}  // namespace
}  // namespace sheaf::checkpoint
