// `sheaf study` as users start and stop it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;
using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"(
[study]
ranks = 2
steps = 3
strategies = ["ddp"]
sweep_to = 2
sweep_steps = 3
profiled_steps = 1
gains = false
[model]
preset = "gpt2-tiny"
layers = 1
width = 16
heads = 1
context = 8
[data]
source = "stories"
size = 2000
[batch]
global = 4
)";

class StudyProgram : public ::testing::Test {
 protected:
  StudyProgram() { std::ofstream(config_) << kConfig; }

  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> words{SHEAF_PROGRAM, "study", config_, "--out", out_};
    words.insert(words.end(), more_.begin(), more_.end());
    return words;
  }
  /// When each finished part was written.
  [[nodiscard]] std::map<std::string, fs::file_time_type> parts() const {
    std::map<std::string, fs::file_time_type> times;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(out_ + "/parts", none)) {
      if (entry.path().extension() == ".json") {
        times[entry.path().filename()] = entry.last_write_time();
      }
    }
    return times;
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(out_ + "/" + name).rdbuf();
    return text.str();
  }
  /// Starts a study and kills it, without a chance to tidy up, once it has so many parts.
  void kill_after(std::size_t count) const {
    const auto words = command();
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int none = ::open("/dev/null", O_WRONLY);
      ::dup2(none, STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    int status = 0;
    while (parts().size() < count && ::waitpid(pid, &status, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.path("study.toml");
  std::string out_ = folder_.path("out");
  std::vector<std::string> more_;
};

TEST_F(StudyProgram, GoesOnAfterKillsAndRepeatsNothing) {
  std::map<std::string, fs::file_time_type> before;
  for (const std::size_t count : {1, 3, 5}) {
    kill_after(count);
    const auto now = parts();
    ASSERT_GE(now.size(), count);
    for (const auto& [name, time] : before) EXPECT_EQ(now.at(name), time) << name;
    before = now;
  }
  const CommandResult result = run_command(command(), Seconds(400));
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  for (const auto& [name, time] : before) EXPECT_EQ(parts().at(name), time) << name;
  // Once all is there, the same report comes of it again and again.
  const std::string report = text_of("report.json");
  EXPECT_THAT(report, HasSubstr("\"sections\""));
  fs::remove(out_ + "/report.json");
  ASSERT_EQ(run_command(command()).exit_code, 0);
  EXPECT_EQ(text_of("report.json"), report);
}

TEST_F(StudyProgram, GoesOnInAnotherPlace) {
  kill_after(1);
  const auto before = parts();
  const std::string moved = folder_.path("moved");
  fs::rename(out_, moved);
  out_ = moved;
  more_ = {"--log.dir=" + folder_.path("log")};
  kill_after(before.size() + 1);
  for (const auto& [name, time] : before) EXPECT_EQ(parts().at(name), time) << name;
  EXPECT_GT(parts().size(), before.size());
}

TEST_F(StudyProgram, HasPyTorchsStrategiesBesideOurs) {
  if (!fs::exists(SHEAF_PYTHON)) GTEST_SKIP() << "no Python with torch here";
  more_ = {"--study.against=pytorch",
           "--study.python=" SHEAF_PYTHON,
           "--model.dropout=0",
           "--model.attention_dropout=0"};
  const CommandResult result = run_command(command(), Seconds(800));
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const auto report = nlohmann::json::parse(text_of("report.json"));
  const auto& peers = report["data"]["pytorch"];
  ASSERT_EQ(peers.size(), 4);
  for (const auto& peer : peers) {
    EXPECT_EQ(peer["loss_agrees"], true) << peer;
    EXPECT_EQ(peer["weights_in_sync"], true) << peer;
  }
  EXPECT_EQ(peers[0]["sheaf"]["strategy"], "ddp");
  EXPECT_THAT(text_of("report.md"), HasSubstr("### PyTorch and sheaf"));
}

TEST_F(StudyProgram, DoesNotMixStudies) {
  kill_after(1);
  auto other = command();
  other.emplace_back("--model.width=32");
  const CommandResult result = run_command(other);
  EXPECT_EQ(result.exit_code, 2) << describe(result);
  EXPECT_THAT(result.err, HasSubstr("another study"));
}

TEST_F(StudyProgram, AsksWhereTheReportGoes) {
  const CommandResult result = run_command({SHEAF_PROGRAM, "study", config_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--out"));
}

}  // namespace
}  // namespace sheaf::study
