// The memory of a run on a GPU, as the program reports it; skipped where there is none.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "gpu/programs.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class MemoryReportOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  }

  static CommandResult run(const std::vector<std::string>& more) {
    std::vector<std::string> command{sheaf_program()};
    command.insert(command.end(), more.begin(), more.end());
    for (const char* word : {"--comm.device=cuda",
                             "--model.preset=gpt2-124m",
                             "--model.dropout=0",
                             "--model.attention_dropout=0",
                             "--data.source=random",
                             "--batch.global=4"}) {
      command.emplace_back(word);
    }
    return run_command(command);
  }
};

TEST_F(MemoryReportOnCuda, HasAPeakBesideItsPrediction) {
  for (const std::string precision : {"fp32", "bf16"}) {
    for (const std::string stage : {"ddp", "zero3"}) {
      const CommandResult result =
          run({"memory", "--json", "--precision.compute=" + precision, "--shard.stage=" + stage});
      ASSERT_EQ(result.exit_code, 0) << describe(result);
      const json page = json::parse(result.out);
      const auto error = page["error"].get<double>();
      std::printf("%s %s: measured %lld, predicted %lld, error %+.2f %%\n",
                  precision.c_str(),
                  stage.c_str(),
                  page["measured"]["peak"].get<long long>(),
                  page["predicted"]["peak"].get<long long>(),
                  100 * error);
      EXPECT_LT(std::abs(error), 0.5);
      EXPECT_GE(page["measured"]["reserved"], page["measured"]["peak"]);
      EXPECT_GT(page["measured"]["segments"], 0);
    }
  }
}

TEST_F(MemoryReportOnCuda, WritesASnapshot) {
  const TemporaryFolder folder;
  const CommandResult result =
      run({"memory", "--json", "--snapshot=" + folder.path("memory.pickle")});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  // What a pickle begins with, and a word of what memory_viz looks for.
  const std::string snapshot = folder.read("memory.pickle");
  EXPECT_EQ(snapshot.substr(0, 1), "\x80");
  EXPECT_THAT(snapshot, HasSubstr("device_traces"));
}

TEST_F(MemoryReportOnCuda, HasTheAllocatorsHistoryBesideASnapshot) {
  const TemporaryFolder folder;
  const CommandResult result = run(
      {"memory", "--json", "--step=4", "--steps=2", "--snapshot=" + folder.path("memory.pickle")});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json measured = json::parse(result.out)["measured"];
  ASSERT_GT(measured["history"].size(), 100);
  double highest = 0;
  for (const json& moment : measured["history"]) {
    EXPECT_LE(moment["in_use"], moment["reserved"]);
    highest = std::max(highest, moment["in_use"].get<double>());
  }
  // The allocator rounds up what it is asked for.
  EXPECT_LT(std::abs(highest / measured["active_peak"].get<double>() - 1), 0.05);
  double sum = 0;
  for (const json& segment : measured["segment_list"]) sum += segment["size"].get<double>();
  EXPECT_EQ(sum, measured["reserved"].get<double>());
}

TEST_F(MemoryReportOnCuda, SaysWhatToDoBeyondALimit) {
  const CommandResult result = run({"train", "--memory.limit=3GiB", "--train.steps=2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("out of memory"));
  EXPECT_THAT(result.err, HasSubstr("what would fit"));
  // The run's tensors are gone when this is told, but they were there.
  std::smatch match;
  const std::regex figures("had up to ([0-9.]+) GiB in use, of ([0-9.]+) GiB reserved");
  ASSERT_TRUE(std::regex_search(result.err, match, figures)) << result.err;
  EXPECT_GT(std::stod(match[1]), 1.0);
  EXPECT_LE(std::stod(match[1]), std::stod(match[2]));
  EXPECT_LE(std::stod(match[2]), 3.0);
}

}  // namespace
}  // namespace sheaf::testing
