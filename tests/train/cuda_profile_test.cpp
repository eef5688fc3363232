// Traces of runs on a GPU, as the program records and reads them; skipped where there is none.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "gpu/programs.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using nlohmann::json;
using ::testing::IsSupersetOf;

constexpr int kFirst = 6;
constexpr int kLast = 9;

/// Something on a stream of the GPU, in microseconds.
struct OnStream {
  double begin = 0;
  double end = 0;
  std::int64_t stream = 0;
};

/// In microseconds.
struct Range {
  double begin = 0;
  double end = 0;
};

class ProfileOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  }

  /// Trains a few steps and records kFirst to kLast.
  void train(const std::vector<std::string>& more) {
    std::vector<std::string> command{
        sheaf_program(),
        "train",
        "--comm.device=cuda",
        "--model.dropout=0",
        "--model.attention_dropout=0",
        "--data.source=random",
        "--train.steps=12",
        "--train.evaluate=false",
        "--train.sample_tokens=0",
        "--profile.steps=" + std::to_string(kFirst) + ":" + std::to_string(kLast),
        "--log.dir=" + folder_.path()};
    command.insert(command.end(), more.begin(), more.end());
    const CommandResult result = run_command(command);
    ASSERT_EQ(result.exit_code, 0) << describe(result);
    events_ = json::parse(folder_.read("trace_rank0.json")).at("traceEvents");
  }

  /// Returns what a category has on the GPU's streams under names with `part` in them.
  [[nodiscard]] std::vector<OnStream> on_gpu(const std::string& category,
                                             const std::string& part) const {
    std::vector<OnStream> found;
    for (const json& event : events_) {
      if (event.value("cat", "") != category) continue;
      if (event.at("name").get<std::string>().find(part) == std::string::npos) continue;
      const double begin = event.at("ts");
      found.push_back({begin,
                       begin + event.at("dur").get<double>(),
                       event.at("args").at("stream").get<std::int64_t>()});
    }
    return found;
  }

  /// Returns how many events of a category have that name.
  [[nodiscard]] std::int64_t named(const std::string& category, const std::string& name) const {
    return std::ranges::count_if(events_, [&](const json& event) {
      return event.value("cat", "") == category && event.at("name") == name;
    });
  }

  /// Returns when a range of sheaf's own begins and ends, in microseconds.
  [[nodiscard]] Range time_of(const std::string& name) const {
    for (const json& event : events_) {
      if (event.value("cat", "") != "sheaf" || event.at("name") != name) continue;
      const double begin = event.at("ts");
      return {begin, begin + event.at("dur").get<double>()};
    }
    ADD_FAILURE() << "the trace has no " << name;
    return {};
  }

  /// Returns the seconds that the accounting says the recorded steps have computed.
  [[nodiscard]] double accounted_compute() const {
    std::ifstream file(folder_.path("metrics.jsonl"));
    double seconds = 0;
    for (std::string line; std::getline(file, line);) {
      const json record = json::parse(line);
      if (record["event"] != "step" || record["step"] < kFirst || record["step"] > kLast) continue;
      for (const char* phase : {"forward", "backward", "optimizer"}) {
        seconds += record["phases"][phase].get<double>();
      }
    }
    return seconds;
  }

  TemporaryFolder folder_;
  json events_;
};

// Steps that keep the GPU busy: what lies between kernels counts as compute in the accounting.
TEST_F(ProfileOnCuda, TracesComputeAsTheAccountingHasIt) {
  train({"--model.preset=gpt2-124m", "--batch.global=16", "--data.size=1000000"});
  std::set<std::string> names;
  for (const json& event : events_) {
    if (event.value("cat", "") == "sheaf") names.insert(event.at("name"));
  }
  EXPECT_THAT(names,
              IsSupersetOf({"step 6", "step 9", "data", "forward", "backward", "optimizer"}));
  EXPECT_GT(on_gpu("kernel", "").size(), 1000U);
  const CommandResult result = run_command({sheaf_program(), "trace", "--json", folder_.path()});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json rank = json::parse(result.out).at("ranks").at(0);
  EXPECT_EQ(rank.at("device"), "gpu");
  EXPECT_EQ(rank.at("steps"), kLast - kFirst + 1);
  const double accounted = accounted_compute();
  std::printf(
      "compute: traced %.6f s, accounted %.6f s\n", rank.at("compute").get<double>(), accounted);
  EXPECT_NEAR(rank.at("compute").get<double>(), accounted, 0.03 * accounted);
}

TEST_F(ProfileOnCuda, ReplaysAreReplaysInATraceThatAsksForThem) {
  train({"--model.preset=gpt2-tiny",
         "--batch.global=4",
         "--train.graph=on",
         "--profile.replays=true"});
  EXPECT_EQ(named("cuda_runtime", "cudaGraphLaunch"), kLast - kFirst + 1);
  EXPECT_EQ(named("cpu_op", "aten::mm"), 0);
  const auto kernels = on_gpu("kernel", "");
  for (int step = kFirst; step <= kLast; ++step) {
    const Range range = time_of("step " + std::to_string(step));
    const auto within = std::ranges::count_if(kernels, [&](const OnStream& kernel) {
      return kernel.begin >= range.begin && kernel.end <= range.end;
    });
    EXPECT_GT(within, 20) << "kernels in step " << step;
  }
}

// A batch so large that its copy takes longer than the host needs for the first kernels.
TEST_F(ProfileOnCuda, CopiesTheNextBatchWhileKernelsRun) {
  train({"--model.preset=gpt2-tiny",
         "--model.layers=1",
         "--model.context=512",
         "--batch.global=4096",
         "--batch.micro=256",
         "--data.size=8000000",
         "--data.workers=2"});
  const auto kernels = on_gpu("kernel", "");
  int beside = 0;
  for (const OnStream& copy : on_gpu("gpu_memcpy", "HtoD")) {
    beside += std::ranges::any_of(kernels, [&](const OnStream& kernel) {
      return kernel.stream != copy.stream && kernel.begin < copy.end && copy.begin < kernel.end;
    });
  }
  EXPECT_GE(beside, kLast - kFirst) << "copies beside kernels";
}

}  // namespace
}  // namespace sheaf::testing
