#include "launch/oom_kills.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sheaf::launch
