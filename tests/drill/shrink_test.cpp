// A run that loses and gets ranks on its way sees the same samples, and learns the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "drill/small_run.h"
#include "drill/watched_run.h"
#include "sheaf/launch/launcher.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::drill {
namespace {

using nlohmann::json;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;

// As between any numbers of ranks: tests/train/rank_invariance_test.cpp.
constexpr double kLossTolerance = 2e-5;

std::vector<std::string> command(const TemporaryFolder& folder, std::int64_t steps) {
  return small_run(SHEAF_PROGRAM,
                   folder.path(),
                   {"--ranks=4",
                    "--min-ranks=3",
                    // Neither three nor four ranks divide it.
                    "--batch.global=10",
                    "--ranks-file=" + folder.path("ranks"),
                    "--checkpoint.every=1000",
                    "--train.steps=" + std::to_string(steps)});
}

struct Step {
  double loss = 0;
  std::string samples;
  int ranks = 0;
};

// Every step once; the number of ranks is that of the last start before it.
std::map<std::int64_t, Step> steps_in(const TemporaryFolder& folder) {
  std::map<std::int64_t, Step> steps;
  std::ifstream file(folder.path("log/metrics.jsonl"));
  int ranks = 0;
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    if (line["event"] == "start") ranks = line["ranks"];
    if (line["event"] != "step") continue;
    EXPECT_FALSE(steps.contains(line["step"])) << "a step was repeated: " << text;
    steps[line["step"]] = {line["loss"], line["sample_hash"].dump(), ranks};
  }
  return steps;
}

void wait_for_steps(WatchedRun& run, int count) {
  for (int seen = 0; seen < count;) {
    const Event event = run.next();
    ASSERT_NE(event.kind, Event::Kind::end) << run.all_lines();
    seen += event.kind == Event::Kind::step ? 1 : 0;
  }
}

// Also follows the run until that generation takes its first step.
void ask_for(WatchedRun& run, const TemporaryFolder& folder, const std::string& ranks) {
  folder.write("ranks.new", ranks);
  std::filesystem::rename(folder.path("ranks.new"), folder.path("ranks"));
  while (true) {
    const Event event = run.next();
    ASSERT_NE(event.kind, Event::Kind::end) << run.all_lines();
    if (event.kind == Event::Kind::start) return;
  }
}

TEST(Shrink, FromFourToThreeAndBackSeesTheSameSamples) {
  const TemporaryFolder changed;
  const TemporaryFolder whole;
  WatchedRun run(command(changed, 1'000'000'000), changed.path());
  run.start();
  wait_for_steps(run, 5);
  ask_for(run, changed, "3");
  wait_for_steps(run, 5);
  ask_for(run, changed, "4");
  wait_for_steps(run, 5);
  ::kill(run.launcher(), SIGTERM);
  while (run.next().kind != Event::Kind::end) continue;
  EXPECT_EQ(run.exit_code(), launch::kRequeueCode) << run.all_lines();

  const auto seen = steps_in(changed);
  const auto result = run_command(command(whole, seen.rbegin()->first));
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const auto expected = steps_in(whole);
  ASSERT_EQ(seen.size(), expected.size());
  int with_three = 0;
  for (const auto& [number, step] : expected) {
    EXPECT_EQ(seen.at(number).samples, step.samples) << "step " << number;
    EXPECT_NEAR(seen.at(number).loss, step.loss, kLossTolerance) << "step " << number;
    with_three += seen.at(number).ranks == 3 ? 1 : 0;
  }
  EXPECT_GE(with_three, 5);
  EXPECT_EQ(seen.rbegin()->second.ranks, 4);
}

}  // namespace
}  // namespace sheaf::drill
