#include "launch/oom_kills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "launch/launcher_process.h"

namespace sheaf::launch {
namespace {

namespace fs = std::filesystem;

// A tree like that of proc and sys.
class OomKills : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = folder_.file(path);
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] std::optional<std::int64_t> count() const {
    return count_oom_kills(folder_.file(""));
  }

  TemporaryFolder folder_;
};

TEST_F(OomKills, AreReadFromTheOwnGroup) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\n");
  write("sys/fs/cgroup/memory.events", "oom_kill 77\n");
  EXPECT_EQ(count(), 3);
}

TEST_F(OomKills, AreReadFromTheTopInsideAContainer) {
  write("proc/self/cgroup", "0::/docker/abc\n");
  write("sys/fs/cgroup/memory.events", "oom 1\noom_kill 5\n");
  EXPECT_EQ(count(), 5);
}

TEST_F(OomKills, AreReadFromTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(count(), 2);
}

TEST_F(OomKills, AreUnknownWhereNothingIsMounted) { EXPECT_EQ(count(), std::nullopt); }

// A control group of its own, below that of this process, with more memory than a launcher takes
// and less than a rank would.
class SmallMemory : public testing::Test {
 protected:
  void SetUp() override {
    make("/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes");
    if (group_.empty()) make("/sys/fs/cgroup", "0::", "memory.max");
    if (group_.empty()) GTEST_SKIP() << "no control group can be made here";
  }
  ~SmallMemory() override {
    std::error_code ignored;
    // Those who were in it may take a moment to be gone from it.
    if (!group_.empty()) EXPECT_TRUE(eventually([&] { return fs::remove(group_, ignored); }));
  }

  void enter() const { std::ofstream(group_ / "cgroup.procs") << ::getpid() << std::flush; }

 private:
  void make(const fs::path& mount, const std::string& mark, const std::string& limit) {
    std::ifstream lines("/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) {
      if (line.find(mark) == std::string::npos) continue;
      const fs::path own = mount / fs::path(line.substr(line.rfind(':') + 1)).relative_path();
      const fs::path made = own / ("sheaf-test-" + std::to_string(::getpid()));
      std::error_code error;
      if (!fs::create_directory(made, error) || error) return;
      group_ = made;
      if (fs::exists(made / limit) && (std::ofstream(made / limit) << "512M" << std::flush)) return;
      fs::remove(made, error);
      group_.clear();
    }
  }

  fs::path group_;
};

TEST_F(SmallMemory, EndsARankWhoseDeathIsNamed) {
  // It keeps what it reads until a line ends, and none does.
  LauncherProcess launcher([&] {
    enter();
    return launch(bash(2, "[ $RANK = 1 ] && exec tail /dev/zero; sleep 1000"));
  });
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  EXPECT_THAT(launcher.err(), testing::HasSubstr("error launch: rank 1 "));
  EXPECT_THAT(
      launcher.err(),
      testing::HasSubstr("was killed by signal 9 (SIGKILL) by the kernel's out-of-memory killer"));
}

}  // namespace
}  // namespace sheaf::launch
