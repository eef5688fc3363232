// The file's name and errors; what is in it is read by TensorBoard itself in tests/interop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "sheaf/base/error.h"
#include "sheaf/train/sinks.h"
#include "support/on_ranks.h"
#include "train/sample_run.h"

namespace sheaf::train {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  return {std::filesystem::directory_iterator(folder), {}};
}

TEST(TensorboardSink, WritesAFileThatTensorboardFinds) {
  const TemporaryFolder folder;
  const auto sink = tensorboard_sink(folder.path());
  ASSERT_EQ(files_in(folder.path()).size(), 1U);
  EXPECT_THAT(
      files_in(folder.path()).front().filename().string(),
      AllOf(StartsWith("events.out.tfevents."), EndsWith("." + std::to_string(::getpid()))));
}

TEST(TensorboardSink, WritesEachStepAtOnce) {
  const TemporaryFolder folder;
  const auto sink = tensorboard_sink(folder.path());
  sink->start(testing::sample_info());
  const auto file = files_in(folder.path()).front();
  const auto before = std::filesystem::file_size(file);
  sink->step(testing::sample_step(1), testing::sample_progress());
  EXPECT_GT(std::filesystem::file_size(file), before);
}

TEST(TensorboardSink, NamesAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "taken") << "";
  EXPECT_THROW((void)tensorboard_sink(folder.path() / "taken"), IoError);
  EXPECT_THAT(testing::error_of([&] { (void)tensorboard_sink(folder.path() / "taken"); }),
              HasSubstr((folder.path() / "taken").string()));
}

}  // namespace
}  // namespace sheaf::train
