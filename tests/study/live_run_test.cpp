#include "study/watch/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "study/watch/watch.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

using sheaf::testing::TemporaryFolder;
using ::testing::SizeIs;

class LiveRunTest : public ::testing::Test {
 protected:
  void append(const std::string& text) const {
    std::ofstream(folder_.path("metrics.jsonl"), std::ios::app) << text;
  }

  TemporaryFolder folder_;
  LiveRun run_{folder_.path("")};
};

constexpr const char* kStep = "{\"event\":\"step\",\"step\":1,\"loss\":2.5,\"units\":[1,2,3]}\n";

TEST_F(LiveRunTest, WaitsForARun) { EXPECT_THAT(run_.since(0, 0)["lines"], SizeIs(0)); }

TEST_F(LiveRunTest, GivesOnlyWhatIsNew) {
  append("{\"event\":\"start\"}\n");
  append(kStep);
  const Json first = run_.since(0, 0);
  EXPECT_THAT(first["lines"], SizeIs(2));
  append(kStep);
  EXPECT_THAT(run_.since(first["next"], first["run"])["lines"], SizeIs(1));
}

TEST_F(LiveRunTest, WaitsForTheEndOfALine) {
  append("{\"event\":\"step\",");
  EXPECT_THAT(run_.since(0, 0)["lines"], SizeIs(0));
  append("\"step\":4}\n");
  EXPECT_EQ(run_.since(0, 0)["lines"][0]["step"], 4);
}

TEST_F(LiveRunTest, LeavesOutWhatThePageDoesNotShow) {
  append(kStep);
  const Json line = run_.since(0, 0)["lines"][0];
  EXPECT_EQ(line["loss"], 2.5);
  EXPECT_FALSE(line.contains("units"));
}

TEST_F(LiveRunTest, NoticesAFileThatBeganAnew) {
  append(std::string(kStep) + kStep);
  const Json before = run_.since(0, 0);
  std::filesystem::remove(folder_.path("metrics.jsonl"));
  append(kStep);
  const Json after = run_.since(before["next"], before["run"]);
  EXPECT_NE(after["run"], before["run"]);
  EXPECT_EQ(after["from"], 0);
  EXPECT_THAT(after["lines"], SizeIs(1));
}

TEST_F(LiveRunTest, NoticesALongerFileInThePlaceOfAnother) {
  append(kStep);
  const Json before = run_.since(0, 0);
  std::filesystem::remove(folder_.path("metrics.jsonl"));
  for (int step = 7; step < 10; ++step) {
    append("{\"event\":\"step\",\"step\":" + std::to_string(step) + ",\"loss\":1.25}\n");
  }
  const Json after = run_.since(before["next"], before["run"]);
  EXPECT_NE(after["run"], before["run"]);
  ASSERT_THAT(after["lines"], SizeIs(3));
  EXPECT_EQ(after["lines"][0]["step"], 7);
}

TEST_F(LiveRunTest, GivesAllOfANewRunToWhoKnowsTheOld) {
  append(kStep);
  append(kStep);
  EXPECT_EQ(run_.since(1, 5)["from"], 0);
  EXPECT_EQ(run_.since(1, 0)["from"], 1);
}

TEST_F(LiveRunTest, ReadsTheRanksOwnFilesAndNoLinks) {
  std::filesystem::create_directory(folder_.path("ranks"));
  std::ofstream(folder_.path("ranks/rank_0.json")) << "{\"rank\":0}";
  std::ofstream(folder_.path("secret.json")) << "{\"secret\":1}";
  std::filesystem::create_symlink(folder_.path("secret.json"), folder_.path("ranks/rank_1.json"));
  EXPECT_THAT(run_.since(0, 0)["ranks"], SizeIs(1));
}

TEST_F(LiveRunTest, HasNoOtherPathsThanTwo) {
  WatchSite site(folder_.path(""));
  EXPECT_EQ(site.answer({.path = "/"}).status, 200);
  EXPECT_EQ(site.answer({.path = "/metrics", .query = "since=0&run=0"}).status, 200);
  for (const char* path : {"/metrics.jsonl", "/../etc/passwd", "//", "/metrics/", ""}) {
    EXPECT_EQ(site.answer({.path = path}).status, 404) << path;
  }
}

TEST_F(LiveRunTest, IsAskedBySinceAndRun) {
  WatchSite site(folder_.path(""));
  append(kStep);
  append(kStep);
  const auto first_of = [&](const std::string& query) {
    return Json::parse(site.answer({.path = "/metrics", .query = query}).body)["from"];
  };
  EXPECT_EQ(first_of("since=1&run=0"), 1);
  EXPECT_EQ(first_of("run=3&since=1"), 0);
  EXPECT_EQ(first_of("since"), 0);
}

}  // namespace
}  // namespace sheaf::study
