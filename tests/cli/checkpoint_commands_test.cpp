// The commands that look at checkpoints, with real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/future_manifest.h"
#include "checkpoint/sample_checkpoint.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::save_sample;
using testing::TemporaryFolder;

class CheckpointCommands : public ::testing::Test {
 protected:
  CheckpointCommands() {
    save_sample(folder_.path(), 1, 2);
    save_sample(folder_.path(), 2, 3);
  }

  /// Runs `sheaf checkpoint ...` in this process.
  int run(std::vector<std::string> words) {
    words.insert(words.begin(), "checkpoint");
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_program(commands(), words, Console{.out = out, .err = err});
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  void damage(const std::string& name) {
    std::string bytes = folder_.read(name);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    folder_.write(name, bytes);
  }

  TemporaryFolder folder_;
  std::string out_;
  std::string err_;
};

TEST_F(CheckpointCommands, InspectListsARun) {
  EXPECT_EQ(run({"inspect", folder_.path()}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("step-00000001"), HasSubstr("step-00000002")));
}

TEST_F(CheckpointCommands, InspectShowsOneWithItsTensors) {
  EXPECT_EQ(run({"inspect", folder_.path("latest"), "--tensors"}), 0) << err_;
  EXPECT_THAT(out_, ContainsRegex("saved by +3 ranks"));
  EXPECT_THAT(out_, ContainsRegex("embedding +F32 +\\[37, 5\\] +model-00001-of-00002.safetensors"));
}

TEST_F(CheckpointCommands, InspectSpeaksJson) {
  EXPECT_EQ(run({"inspect", folder_.path(), "--json"}), 0) << err_;
  const json pages = json::parse(out_);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[1]["ranks"], 3);
  EXPECT_EQ(pages[1]["run"]["note"], "a run");
}

TEST_F(CheckpointCommands, InspectListsTensorsOfARunAndInJson) {
  EXPECT_EQ(run({"inspect", folder_.path(), "--tensors"}), 0) << err_;
  EXPECT_THAT(out_, ContainsRegex("step-00000001\n(.*\n)*embedding(.*\n)*.*step-00000002\n"));
  EXPECT_EQ(run({"inspect", folder_.path("latest"), "--tensors", "--json"}), 0) << err_;
  const json tensors = json::parse(out_)[0]["tensor_list"];
  ASSERT_EQ(tensors.size(), 8U);
  EXPECT_EQ(tensors[0]["name"], "embedding");
}

TEST_F(CheckpointCommands, NoticeARenamedCheckpoint) {
  fs::rename(folder_.path("step-00000001"), folder_.path("step-00000007"));
  EXPECT_EQ(run({"verify", folder_.path()}), 1);
  EXPECT_THAT(out_, HasSubstr("step-00000007: it was saved at step 1"));
  EXPECT_EQ(run({"prune", folder_.path()}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("damaged, left as it is"));
  EXPECT_TRUE(fs::exists(folder_.path("step-00000002")));
}

TEST_F(CheckpointCommands, LeaveALaterVersionAlone) {
  const std::string manifest = "step-00000001/manifest.json";
  folder_.write(manifest, testing::future_manifest(folder_.read(manifest)));
  EXPECT_EQ(run({"verify", folder_.path()}), 1);
  EXPECT_THAT(out_,
              HasSubstr("problem: " + folder_.path(manifest) + ": a checkpoint of version 2"));
  EXPECT_EQ(run({"prune", folder_.path()}), 0) << err_;
  EXPECT_TRUE(fs::exists(folder_.path("step-00000001")));
}

TEST_F(CheckpointCommands, InspectNamesADamagedOne) {
  fs::remove(folder_.path("step-00000001/config.json"));
  EXPECT_EQ(run({"inspect", folder_.path()}), 0);
  EXPECT_THAT(out_, HasSubstr("problem: "));
  EXPECT_THAT(out_, HasSubstr("step-00000001/config.json: the file is missing"));
}

TEST_F(CheckpointCommands, VerifyReadsEverything) {
  EXPECT_EQ(run({"verify", folder_.path()}), 0) << err_;
  damage("step-00000002/state-00001-of-00002.safetensors");
  EXPECT_EQ(run({"verify", folder_.path()}), 1);
  EXPECT_THAT(out_, HasSubstr("step-00000001: every checksum is right"));
  EXPECT_THAT(out_, HasSubstr("state-00001-of-00002.safetensors: 'optimizer/exp_avg/embedding'"));
}

TEST_F(CheckpointCommands, DiffSaysWhichTensorsAndByHowMuch) {
  EXPECT_EQ(run({"diff", folder_.path("step-00000001"), folder_.path("step-00000002")}), 1);
  EXPECT_THAT(out_, ContainsRegex("scalar +values +1 of 1 +3"));
  // The same values in other pieces are the same.
  const TemporaryFolder other;
  save_sample(other.path(), 2, 1);
  EXPECT_EQ(run({"diff", folder_.path("step-00000002"), other.path()}), 0);
  EXPECT_THAT(out_, HasSubstr("all tensors are the same"));
}

TEST_F(CheckpointCommands, ExportWritesOneFileOrAFolder) {
  const TemporaryFolder to;
  EXPECT_EQ(run({"export", folder_.path(), to.path("a.safetensors")}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("4 tensors"));
  EXPECT_EQ(run({"export", folder_.path(), to.path("a.pt"), "--format=torch", "--part=all"}), 0);
  EXPECT_THAT(out_, HasSubstr("8 tensors"));
  EXPECT_EQ(run({"export", folder_.path(), to.path("dcp"), "--format=dcp"}), 0) << err_;
  EXPECT_TRUE(fs::exists(to.path("dcp/.metadata")));
  EXPECT_EQ(run({"export", folder_.path(), to.path("a.pt")}), 2);
  EXPECT_THAT(err_, HasSubstr("something is there already"));
}

TEST_F(CheckpointCommands, PruneKeepsTheNewest) {
  EXPECT_EQ(run({"prune", folder_.path(), "--dry-run"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("would remove step-00000001"));
  EXPECT_EQ(run({"prune", folder_.path()}), 0) << err_;
  EXPECT_FALSE(fs::exists(folder_.path("step-00000001")));
  EXPECT_TRUE(fs::exists(folder_.path("step-00000002")));
}

TEST_F(CheckpointCommands, PruneNeverRemovesTheLastGoodOne) {
  fs::remove(folder_.path("step-00000002/manifest.json"));
  EXPECT_EQ(run({"prune", folder_.path()}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("damaged, left as it is"), Not(HasSubstr("removed"))));
  EXPECT_TRUE(fs::exists(folder_.path("step-00000001")));
}

TEST_F(CheckpointCommands, PruneRemovesNothingIfTheNewestCannotBeRead) {
  damage("step-00000002/state-00001-of-00002.safetensors");
  EXPECT_EQ(run({"prune", folder_.path()}), 1);
  EXPECT_THAT(err_, HasSubstr("nothing was removed"));
  EXPECT_TRUE(fs::exists(folder_.path("step-00000001")));
}

TEST_F(CheckpointCommands, SayWhenThereIsNothing) {
  const TemporaryFolder empty;
  for (const char* word : {"inspect", "verify", "prune"}) {
    EXPECT_EQ(run({word, empty.path()}), 2);
    EXPECT_THAT(err_, HasSubstr("there are no checkpoints in"));
  }
}

}  // namespace
}  // namespace sheaf::cli
