#include "sheaf/hub/folder_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/config.h"
#include "sheaf/hub/model_folder.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

const FolderContents kContents{.config = "{}",
                               .parameters = {{"a", at::kFloat, {2}}, {"b", at::kFloat, {3}}}};

TEST(FolderWriter, MakesTheFolderWhenItIsWholeAndNotBefore) {
  const TemporaryFolder folder;
  {
    FolderWriter writer(folder.path("deep/model"), kContents);
    writer.write("a", 0, at::ones({2}));
    EXPECT_FALSE(fs::exists(folder.path("deep/model")));
  }
  EXPECT_TRUE(fs::is_empty(folder.path("deep")));
  FolderWriter writer(folder.path("deep/model/"), kContents);
  writer.write("a", 0, at::ones({2}));
  writer.write("b", 0, at::ones({3}));
  writer.finish();
  EXPECT_TRUE(fs::exists(folder.path("deep/model/model.safetensors")));
  EXPECT_FALSE(fs::exists(folder.path("deep/model.unfinished")));
}

TEST(FolderWriter, RefusesToFinishWithoutAllValues) {
  const TemporaryFolder folder;
  {
    FolderWriter writer(folder.path("model"), kContents);
    writer.write("a", 0, at::ones({2}));
    EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("20 bytes, but 8 were written"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(FolderWriter, SpreadsWeightsAndListsThemInAnIndex) {
  const TemporaryFolder folder;
  FolderWriter writer(folder.path("model"), kContents, {.shard_size = Bytes{8}});
  writer.write("a", 0, at::ones({2}));
  writer.write("b", 0, at::ones({3}));
  writer.finish();
  const auto index = nlohmann::json::parse(folder.read("model/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 20);
  EXPECT_EQ(index["weight_map"]["b"], "model-00002-of-00002.safetensors");
  EXPECT_FALSE(fs::exists(folder.path("model/model.safetensors")));
}

TEST(FolderWriter, TakesCompanionsAlongAsTheyAre) {
  const TemporaryFolder folder;
  folder.write("old/merges.txt", "#version\n\xff");
  folder.write("old/generation_config.json", "{ }");
  folder.write("old/pytorch_model.bin", "large");
  FolderContents contents{.config = "{}", .companions_from = folder.path("old")};
  FolderWriter(folder.path("model"), contents).finish();
  EXPECT_EQ(folder.read("model/merges.txt"), "#version\n\xff");
  EXPECT_EQ(folder.read("model/generation_config.json"), "{ }");
  EXPECT_FALSE(fs::exists(folder.path("model/pytorch_model.bin")));
}

TEST(FolderWriter, ReplacesWhatAKilledOneLeft) {
  const TemporaryFolder folder;
  folder.write("model.unfinished/junk", "junk");
  FolderWriter(folder.path("model"), {.config = "{}"}).finish();
  EXPECT_FALSE(fs::exists(folder.path("model/junk")));
}

TEST(FolderWriter, RefusesAFolderThatAnotherOneIsWriting) {
  const TemporaryFolder folder;
  FolderWriter first(folder.path("model"), {.config = "{}"});
  EXPECT_THAT(error_of([&] { FolderWriter(folder.path("model"), {.config = "{}"}); }),
              HasSubstr("another process is writing"));
  first.finish();
  EXPECT_EQ(folder.read("model/config.json"), "{}");
}

TEST(FolderWriter, DoesNotReplaceWhatCameMeanwhile) {
  const TemporaryFolder folder;
  FolderWriter writer(folder.path("model"), {.config = "{}"});
  folder.write("model/precious", "text");
  EXPECT_THROW(writer.finish(), IoError);
  EXPECT_EQ(folder.read("model/precious"), "text");
}

TEST(CheckTarget, AllowsNothingAndAnEmptyFolder) {
  const TemporaryFolder folder;
  check_target(folder.path("none"), false);
  check_target(folder.path(), false);
}

TEST(CheckTarget, RefusesWhatIsThere) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THAT(error_of([&] { check_target(folder.path("file"), true); }), HasSubstr("is a file"));
  EXPECT_THAT(error_of([&] { check_target(folder.path(), false); }), HasSubstr("is not empty"));
  EXPECT_THAT(error_of([&] { check_target(folder.path(), true); }), HasSubstr("no config.json"));
  folder.write("config.json", "{}");
  EXPECT_THAT(error_of([&] { check_target(folder.path(), true); }),
              HasSubstr("has something else, file"));
  fs::remove(folder.path("file"));
  folder.write("model.safetensors", "");
  folder.write("tokenizer.json", "");
  check_target(folder.path(), true);
  fs::create_directory(folder.path("checkpoint-500"));
  EXPECT_THAT(error_of([&] { check_target(folder.path(), true); }), HasSubstr("checkpoint-500"));
}

}  // namespace
}  // namespace sheaf::hub
