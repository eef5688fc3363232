#include "base/memory_room.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sheaf {
namespace {

class MemoryRoom : public testing::Test {
 protected:
  MemoryRoom() { std::filesystem::remove_all(root_); }
  ~MemoryRoom() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "sheaf_memory_room";
};

TEST_F(MemoryRoom, LimitIsTheTightestOnTheWayToTheGroup) {
  write("memory.max", "max\n");
  write("job/memory.max", "1048576\n");
  write("job/step/memory.max", "4194304\n");
  EXPECT_EQ(group_memory_limit(root_, "0::/job/step\n"), mebibytes(1));
  EXPECT_EQ(group_memory_limit(root_, "0::/\n"), std::nullopt);
}

TEST_F(MemoryRoom, LimitKnowsVersionOneAndPathsOfTheHost) {
  write("memory/memory.limit_in_bytes", "2097152\n");
  EXPECT_EQ(group_memory_limit(root_, "5:cpu:/\n4:memory:/docker/abc\n0::/\n"), mebibytes(2));
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(group_memory_limit(root_, "4:memory:/\n"), std::nullopt);
}

TEST_F(MemoryRoom, IsWhatTheFullestGroupHasLeft) {
  write("job/memory.max", "8388608\n");
  write("job/memory.current", "7340032\n");
  write("job/step/memory.max", "4194304\n");
  write("job/step/memory.current", "1048576\n");
  EXPECT_EQ(group_memory_room(root_, "0::/job/step\n"), mebibytes(1));
}

TEST_F(MemoryRoom, CountsFilesThatCanBeDroppedAsFree) {
  write("memory.max", "8388608\n");
  write("memory.current", "7340032\n");
  write("memory.stat", "anon 4194304\ninactive_file 3145728\n");
  EXPECT_EQ(group_memory_room(root_, "0::/\n"), mebibytes(4));
}

TEST_F(MemoryRoom, IsNothingInAGroupBeyondItsLimit) {
  write("memory/memory.limit_in_bytes", "1048576\n");
  write("memory/memory.usage_in_bytes", "2097152\n");
  EXPECT_EQ(group_memory_room(root_, "4:memory:/\n"), Bytes{0});
}

TEST_F(MemoryRoom, IsOpenWithoutALimit) {
  write("memory.max", "max\n");
  EXPECT_EQ(group_memory_room(root_, "0::/\n"), std::nullopt);
}

TEST_F(MemoryRoom, OfThisProcessIsSomething) { EXPECT_GT(free_memory(), Bytes{0}); }

}  // namespace
}  // namespace sheaf
