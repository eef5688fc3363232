// Checkpoints that were changed after they were saved: every change is noticed and named, and the
// checkpoint before is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "checkpoint/future_manifest.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/base/log.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace sheaf::testing;

constexpr int kMutations = 500;

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& each : fs::directory_iterator(folder)) files.push_back(each.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Returns what was logged, whatever the level that the environment asks for.
std::string warnings_of(const std::function<void()>& work) {
  const log::Level before = log::level();
  log::set_level(log::Level::warning);
  ::testing::internal::CaptureStderr();
  work();
  log::set_level(before);
  return ::testing::internal::GetCapturedStderr();
}

/// What a run must do with a folder in which something was changed.
struct Expected {
  /// What its warning must say.
  std::string warning;
  /// The step that it goes on from.
  std::int64_t step = 1;
  /// What the newest checkpoint is called then.
  std::string newest = "step-00000002.damaged";
};

/// Changes something in the newest checkpoint, or in what is said of it.
class Mutation {
 public:
  Mutation(const std::string& folder, unsigned seed)
      : random_(seed),
        folder_(folder),
        newest_(path_of_step(folder, 2)),
        files_(files_in(newest_)) {}

  Expected apply() {
    switch (random_() % 11) {
      case 0:
      case 1:
      case 2:
        return {flip_bit()};
      case 3:
        return {cut()};
      case 4:
        return {remove()};
      case 5:
        return {swap_files()};
      case 6:
        return {replace_by_older()};
      case 7:
        return {add_file()};
      case 8:
        return {write_later_version(), 1, "step-00000002"};
      case 9:
        return {turn_link(), 2, "step-00000002"};
      default:
        return {grow()};
    }
  }

 private:
  const fs::path& any_file() { return files_[random_() % files_.size()]; }

  std::string flip_bit() {
    const fs::path path = any_file();
    std::string bytes = read(path);
    bytes[random_() % bytes.size()] ^= static_cast<char>(1U << (random_() % 8));
    write(path, bytes);
    return path.filename();
  }

  std::string cut() {
    const fs::path path = any_file();
    fs::resize_file(path, random_() % fs::file_size(path));
    return path.filename();
  }

  std::string grow() {
    const fs::path path = any_file();
    write(path, read(path) + std::string(1 + random_() % 100, '\0'));
    return path.filename();
  }

  std::string remove() {
    const fs::path path = any_file();
    fs::remove(path);
    return path.filename();
  }

  std::string swap_files() {
    const fs::path first = newest_ / "model-00001-of-00002.safetensors";
    const fs::path other =
        newest_ / (random_() % 2 == 0 ? "model-00002-of-00002.safetensors" : "config.json");
    fs::rename(first, newest_ / ".swapped");
    fs::rename(other, first);
    fs::rename(newest_ / ".swapped", other);
    return other.filename() == "config.json" ? "config.json" : "model-0000";
  }

  /// The same name and size, but of the checkpoint before. Files that are alike stay as they are,
  /// so another one is taken.
  std::string replace_by_older() {
    for (;;) {
      const fs::path path = any_file();
      const std::string older = read(path_of_step(folder_, 1) / path.filename());
      if (older == read(path)) continue;
      write(path, older);
      return path.filename() == kManifestName ? "step-00000002" : path.filename().string();
    }
  }

  std::string add_file() {
    write(newest_ / "model-00009-of-00009.safetensors", "anything");
    return "model-00009-of-00009.safetensors";
  }

  std::string write_later_version() {
    const fs::path path = newest_ / kManifestName;
    write(path, future_manifest(read(path)));
    return "step-00000002 stays as it is, going back to the one before";
  }

  std::string turn_link() {
    const fs::path link = fs::path(folder_) / kLatestName;
    fs::remove(link);
    const std::string target = random_() % 2 == 0 ? "step-00000001" : "step-00000007";
    fs::create_symlink(target, link);
    return "leads to " + target;
  }

  std::mt19937 random_;
  std::string folder_;
  fs::path newest_;
  std::vector<fs::path> files_;
};

TEST(DamagedCheckpoint, IsNoticedNamedAndPassedOver) {
  const TemporaryFolder original;
  save_sample(original.path(), 1, 2);
  save_sample(original.path(), 2, 2);
  for (unsigned seed = 0; seed < kMutations; ++seed) {
    const TemporaryFolder folder;
    const auto how = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
    fs::copy(original.path(), folder.path(), how);
    const Expected expected = Mutation(folder.path(), seed).apply();
    std::int64_t step = 0;
    const std::string warning = warnings_of([&] { step = restored_sample(folder.path()); });
    ASSERT_EQ(step, expected.step) << "mutation " << seed << ": " << expected.warning;
    EXPECT_THAT(warning, HasSubstr("step-00000002")) << "mutation " << seed;
    EXPECT_THAT(warning, HasSubstr(expected.warning)) << "mutation " << seed;
    ASSERT_TRUE(fs::exists(folder.path(expected.newest))) << "mutation " << seed;
    EXPECT_EQ(fs::read_symlink(folder.path("latest")), name_of_step(expected.step));
  }
}

TEST(DamagedCheckpoint, MakesRoomForANewOne) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1);
  save_sample(folder.path(), 2);
  fs::remove(folder.path("step-00000002/manifest.json"));
  EXPECT_EQ(restored_sample(folder.path()), 1);
  save_sample(folder.path(), 2);
  EXPECT_EQ(restored_sample(folder.path()), 2);
}

TEST(DamagedCheckpoint, IsNotPassedOverIfThereIsNoOther) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 2);
  fs::resize_file(folder.path("step-00000002/config.json"), 3);
  const std::string text = error_of([&] { static_cast<void>(restored_sample(folder.path())); });
  EXPECT_THAT(text, HasSubstr("none of the 1 checkpoints"));
  EXPECT_THAT(text, HasSubstr("config.json"));
  EXPECT_TRUE(fs::exists(folder.path("step-00000002")));
}

TEST(DamagedCheckpoint, IsNotTakenForAnotherVersion) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1);
  std::string text = folder.read("step-00000001/manifest.json");
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  folder.write("step-00000001/manifest.json", text);
  // The checksum says that somebody was at it.
  EXPECT_THROW(Reader(folder.path("step-00000001")), Damaged);
}

TEST(StaleLink, IsNamedAndDoesNotDecide) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1);
  save_sample(folder.path(), 2);
  for (const char* target : {"step-00000001", "step-00000007", "/none"}) {
    fs::remove(folder.path("latest"));
    fs::create_symlink(target, folder.path("latest"));
    EXPECT_THAT(warnings_of([&] { EXPECT_EQ(restored_sample(folder.path()), 2); }),
                HasSubstr("latest leads to " + std::string(target)));
  }
}

TEST(Reader, IgnoresHiddenFiles) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1);
  folder.write("step-00000001/.nfs0001", "");
  require_sample(Reader(folder.path("step-00000001")), 1);
}

TEST(Reader, FindsEveryProblemWhenAsked) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1, 2);
  for (const char* name :
       {"model-00001-of-00002.safetensors", "state-00001-of-00002.safetensors"}) {
    const std::string path = std::string("step-00000001/") + name;
    std::string bytes = folder.read(path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    folder.write(path, bytes);
  }
  std::vector<std::string> problems;
  Reader(folder.path("step-00000001")).verify([&](const std::string& text) {
    problems.push_back(text);
  });
  EXPECT_THAT(problems, ::testing::ElementsAre(HasSubstr("model-00001"), HasSubstr("state-00001")));
}

}  // namespace
}  // namespace sheaf::checkpoint
