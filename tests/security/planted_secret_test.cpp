// What a run, its launcher and the doctor write holds nothing of the environment that could be
// secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "comm/store/secret.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPlanted = "planted-Zq7xV9kL2m";

/// Variables such as people have them, while it lives.
class PlantedSecrets {
 public:
  PlantedSecrets() {
    for (const char* name : kNames) ::setenv(name, kPlanted, /*overwrite=*/1);
  }
  ~PlantedSecrets() {
    for (const char* name : kNames) ::unsetenv(name);
  }

 private:
  static constexpr const char* kNames[] = {
      "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "NCCL_FAKE", "SLURM_JWT", "SHEAF_FAKE"};
};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void expect_nothing_of(const std::string& secret, const CommandResult& result) {
  EXPECT_THAT(result.out, Not(HasSubstr(secret)));
  EXPECT_THAT(result.err, Not(HasSubstr(secret)));
}

TEST(PlantedSecret, IsInNothingThatARunWrites) {
  const PlantedSecrets planted;
  const TemporaryFolder folder;
  const std::string file = folder.write("secret", std::string(44, 's'));
  fs::permissions(file, fs::perms::owner_read);
  const auto result = run_command({SHEAF_PROGRAM,
                                   "launch",
                                   "--ranks",
                                   "2",
                                   "--secret-file",
                                   file,
                                   "--log-dir",
                                   folder.path("logs"),
                                   "--",
                                   SHEAF_PROGRAM,
                                   "train",
                                   SHEAF_SOURCE_DIR "/configs/quickstart.toml",
                                   "--train.steps=2",
                                   "--schedule.warmup_steps=0",
                                   "--log.dir=" + folder.path("run"),
                                   "--checkpoint.dir=" + folder.path("checkpoints")});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const std::string run_secret = comm::store::Secret::read(file).hex();
  int files = 0;
  for (const char* part : {"logs", "run", "checkpoints"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder.path(part))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      EXPECT_EQ(read(entry.path()).find(kPlanted), std::string::npos) << entry.path();
      EXPECT_EQ(read(entry.path()).find(run_secret), std::string::npos) << entry.path();
    }
  }
  EXPECT_GT(files, 5);
  expect_nothing_of(kPlanted, result);
  expect_nothing_of(run_secret, result);
}

TEST(PlantedSecret, IsInNothingThatTheDoctorSays) {
  const PlantedSecrets planted;
  const auto result = run_command({SHEAF_PROGRAM, "doctor"});
  EXPECT_FALSE(result.out.empty());
  expect_nothing_of(kPlanted, result);
}

// The secret comes by the environment: a command line is for all users of a machine to see.
TEST(PlantedSecret, IsOnNoCommandLine) {
  const std::string look =
      "for f in /proc/[0-9]*/cmdline; do "
      "[[ $(tr '\\0' ' ' < $f 2>/dev/null) == *$SHEAF_SECRET* ]] && exit 3; done; exit 0";
  const auto result =
      run_command({SHEAF_PROGRAM, "launch", "--ranks", "1", "--", "bash", "-c", look});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
}

}  // namespace
}  // namespace sheaf::testing
