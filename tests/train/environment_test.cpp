#include "sheaf/train/environment.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sheaf/base/version.h"
#include "train/sample_run.h"
#include "train/utc_time.h"

namespace sheaf::train {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string text_with(const std::vector<std::string>& words) {
  return environment_json(testing::sample_info(), words);
}

TEST(Environment, NamesVersionsAndCommand) {
  const json all = json::parse(text_with({"sheaf", "train", "a b"}));
  EXPECT_EQ(all["command"], json({"sheaf", "train", "a b"}));
  EXPECT_EQ(all["versions"]["sheaf"], std::string(version()));
  EXPECT_THAT(all["versions"]["libtorch"].get<std::string>(), StartsWith("2."));
  EXPECT_THAT(all["versions"]["compiler"].get<std::string>(), ContainsRegex("^[A-Za-z]+ [0-9]"));
  EXPECT_TRUE(all["versions"].contains("cuda"));
  EXPECT_THAT(all["time"].get<std::string>(), ContainsRegex("^20..-..-..T..:..:..Z$"));
}

TEST(Environment, NamesTheMachine) {
  const json machine = json::parse(text_with({}))["machine"];
  EXPECT_GE(machine["usable_cores"], 1);
  EXPECT_GT(machine["memory_bytes"], 1 << 20);
  EXPECT_NE(machine["processor"], "");
  EXPECT_THAT(machine["kernel"].get<std::string>(), StartsWith("Linux "));
  EXPECT_TRUE(machine["gpus"].is_array());
}

TEST(Environment, NamesRanksAndThreads) {
  const json run = json::parse(text_with({}))["run"];
  EXPECT_EQ(run["ranks"], 4);
  EXPECT_EQ(run["threads_per_rank"], at::get_num_threads());
}

TEST(Environment, TellsNothingFromTheEnvironmentVariables) {
  ::setenv("SHEAF_TEST_SECRET", "hunter2hunter2", 1);
  EXPECT_THAT(text_with({}), Not(HasSubstr("hunter2")));
  ::unsetenv("SHEAF_TEST_SECRET");
}

TEST(Environment, HoldsArgumentsOfAnyBytes) {
  EXPECT_EQ(json::parse(text_with({"a\xff"}))["command"][0], "a\ufffd");
}

TEST(UtcText, IsIso8601) {
  using Clock = std::chrono::system_clock;
  EXPECT_EQ(utc_text(Clock::from_time_t(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(Clock::from_time_t(951'827'696)), "2000-02-29T12:34:56Z");
}

}  // namespace
}  // namespace sheaf::train
