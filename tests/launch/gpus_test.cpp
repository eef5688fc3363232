#include "launch/gpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launch/launcher_process.h"

namespace sheaf::launch {
namespace {

// A machine with the driver's files of two GPUs, and other files of the driver.
class CountGpus : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("dev"));
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia", "null"}) {
      folder_.touch(std::string("dev/") + name);
    }
  }
  [[nodiscard]] int count(const std::optional<std::string>& visible) const {
    return count_gpus(visible, folder_.file(""));
  }

  TemporaryFolder folder_;
};

TEST_F(CountGpus, TakesTheDriversFiles) { EXPECT_EQ(count(std::nullopt), 2); }

TEST_F(CountGpus, AsksTheDriverWhereThereAreNoFilesYet) {
  std::filesystem::remove_all(folder_.file("dev"));
  EXPECT_EQ(count(std::nullopt), 0);
  std::filesystem::create_directories(folder_.file("proc/driver/nvidia/gpus/0000:01:00.0"));
  EXPECT_EQ(count(std::nullopt), 1);
}

TEST_F(CountGpus, LeavesOutWhatIsNotVisible) {
  EXPECT_EQ(count("0,1"), 2);
  EXPECT_EQ(count("1"), 1);
  EXPECT_EQ(count(""), 0);
  EXPECT_EQ(count("-1"), 0);
  EXPECT_EQ(count("0,7,1"), 1);
  EXPECT_EQ(count("0,-1,1"), 1);
  EXPECT_EQ(count("99999999999999999999"), 0);
  EXPECT_EQ(count("GPU-8932f937,MIG-5c7a"), 2);
  EXPECT_EQ(count("NoDevFiles"), 0);
}

}  // namespace
}  // namespace sheaf::launch
