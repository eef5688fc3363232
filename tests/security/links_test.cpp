// A name that somebody else made a link of is not written through.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/durable.h"
#include "hub/unfinished_folder.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/safetensors_writer.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf {
namespace {

namespace fs = std::filesystem;
using sheaf::testing::error_of;
using ::testing::HasSubstr;

class Links : public ::testing::Test {
 protected:
  /// Makes `name` a link to a file that is not to change.
  std::string link(const std::string& name) {
    fs::create_symlink(victim_, folder_.path(name));
    return folder_.path(name);
  }
  [[nodiscard]] std::string victim() const { return folder_.read("victim"); }

  sheaf::testing::TemporaryFolder folder_;
  std::string victim_ = folder_.write("victim", "precious");
};

TEST_F(Links, AreReplacedWhereWeightsAreWritten) {
  link("model.safetensors.unfinished");
  checkpoint::SafetensorsWriter writer(folder_.path("model.safetensors"),
                                       checkpoint::SafetensorsPlan({}),
                                       checkpoint::WriterRole::first);
  writer.finish();
  EXPECT_EQ(victim(), "precious");
  EXPECT_FALSE(fs::is_symlink(folder_.path("model.safetensors")));
}

TEST_F(Links, AreRefusedAsTheLockOfCheckpoints) {
  fs::create_symlink(folder_.path("made through the link"), folder_.path(".lock"));
  EXPECT_THAT(error_of([&] { const checkpoint::FolderLock lock(folder_.path()); }),
              HasSubstr("cannot make a file"));
  EXPECT_FALSE(fs::exists(folder_.path("made through the link")));
}

TEST_F(Links, AreRefusedByTextsOfAFolder) {
  const std::string path = link("config.json");
  EXPECT_THAT(error_of([&] { write_text(path, "text"); }), HasSubstr("cannot write a file"));
  EXPECT_EQ(victim(), "precious");
}

TEST_F(Links, AreRefusedAsTheFolderOfAModel) {
  fs::create_directory(folder_.path("others"));
  folder_.write("others/file", "precious");
  fs::create_directory_symlink(folder_.path("others"), folder_.path("model.unfinished"));
  hub::UnfinishedFolder unfinished(folder_.path("model"), /*overwrite=*/true);
  EXPECT_THAT(error_of([&] { unfinished.begin(); }), HasSubstr("cannot open a folder"));
  EXPECT_EQ(folder_.read("others/file"), "precious");
}

}  // namespace
}  // namespace sheaf
