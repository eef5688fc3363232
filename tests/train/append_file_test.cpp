#include "train/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "train/sample_run.h"

namespace sheaf::train {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::text_of;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(AppendFile, MakesFoldersAndAppends) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b" / "file";
  AppendFile(path).write("one\n");
  AppendFile(path).write("two\n");
  EXPECT_EQ(text_of(path), "one\ntwo\n");
}

TEST(AppendFile, ShowsARecordAtOnce) {
  const TemporaryFolder folder;
  AppendFile file(folder.path() / "file");
  file.write("one\n");
  EXPECT_EQ(text_of(folder.path() / "file"), "one\n");
}

TEST(AppendFile, DropsALineWithoutAnEnd) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write(path, "one\n" + std::string(10'000, 'x'));
  AppendFile file(path);
  file.drop_open_line();
  file.write("two\n");
  EXPECT_EQ(text_of(path), "one\ntwo\n");
}

TEST(AppendFile, KeepsWholeLines) {
  const TemporaryFolder folder;
  for (const std::string text : {"", "one\n", "one\n\n"}) {
    write(folder.path() / "file", text);
    AppendFile(folder.path() / "file").drop_open_line();
    EXPECT_EQ(text_of(folder.path() / "file"), text);
  }
}

TEST(AppendFile, DropsAllOfAFileWithoutLines) {
  const TemporaryFolder folder;
  write(folder.path() / "file", "{\"half\":");
  AppendFile(folder.path() / "file").drop_open_line();
  EXPECT_EQ(text_of(folder.path() / "file"), "");
}

TEST(AppendFile, NamesAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write(folder.path() / "taken", "");
  const auto inside = folder.path() / "taken" / "logs";
  EXPECT_THROW(AppendFile(inside / "file"), IoError);
  EXPECT_THAT(error_of([&] { AppendFile file(inside / "file"); }),
              AllOf(HasSubstr(inside.string()), HasSubstr("Not a directory")));
  EXPECT_THAT(error_of([&] { AppendFile file(folder.path() / "taken" / "file"); }),
              AllOf(HasSubstr((folder.path() / "taken").string()), HasSubstr("Not a directory")));
}

TEST(AppendFile, NamesAFileThatCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { AppendFile file(folder.path()); }),
              AllOf(HasSubstr("cannot open " + folder.path().string()), HasSubstr("directory")));
}

TEST(AppendFile, NamesAFullDisk) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "file");
  AppendFile file(folder.path() / "file");
  EXPECT_THAT(error_of([&] { file.write("one\n"); }),
              AllOf(HasSubstr((folder.path() / "file").string()), HasSubstr("No space left")));
}

}  // namespace
}  // namespace sheaf::train
