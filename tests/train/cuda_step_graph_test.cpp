// Runs of the program on a GPU whose steps are one CUDA graph, against those without.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gpu/programs.h"
#include "support/run_command.h"
#include "support/same_tensors.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Options = std::map<std::string, std::string>;

constexpr const char* kRecorded = "from now on steps are one CUDA graph";

class StepGraphOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "there is no CUDA device";
  }

  /// Trains with a schedule, clipping and two passes per step; the log and the last checkpoint are
  /// in folder `name`.
  CommandResult train(const std::string& name, const std::string& graph, const Options& other) {
    Options options{{"model.preset", "gpt2-tiny"},
                    {"model.dropout", "0"},
                    {"data.source", "stories"},
                    {"data.size", "200000"},
                    {"batch.global", "16"},
                    {"batch.micro", "8"},
                    {"optimizer.clip", "0.5"},
                    {"schedule.kind", "cosine"},
                    {"schedule.warmup_steps", "5"},
                    {"train.evaluate_every", "7"},
                    {"train.sample_tokens", "0"},
                    {"train.deterministic", "true"},
                    {"train.graph", graph},
                    {"comm.device", "cuda"},
                    {"comm.backend", "nccl"},
                    {"checkpoint.dir", folder_.path(name + "/saved")},
                    {"log.dir", folder_.path(name + "/log")}};
    for (const auto& [option, value] : other) options[option] = value;
    std::vector<std::string> words{sheaf_program(), "train"};
    for (const auto& [option, value] : options) {
      words.push_back(fmt::format("--{}={}", option, value));
    }
    return run_command(words);
  }

  /// Returns the records of all steps of folder `name`.
  std::map<int, nlohmann::json> steps(const std::string& name) {
    std::map<int, nlohmann::json> found;
    std::ifstream file(folder_.path(name + "/log/metrics.jsonl"));
    for (std::string line; std::getline(file, line);) {
      auto record = nlohmann::json::parse(line);
      if (record["event"] != "step") continue;
      const int step = record["step"];
      found[step] = std::move(record);
    }
    return found;
  }

  /// Returns loss, norm and rate of every step of folder `name`, as they were written.
  std::map<int, std::string> figures(const std::string& name) {
    std::map<int, std::string> found;
    for (const auto& [step, record] : steps(name)) {
      found[step] = record["loss"].dump() + " " + record["gradient_norm"].dump() + " " +
                    record["learning_rate"].dump();
    }
    return found;
  }

  /// Expects the same losses, norms, rates and weights with and without a graph.
  void expect_the_bits_of_plain_steps(const Options& other) {
    const CommandResult with = train("with", "on", other);
    const CommandResult without = train("without", "off", other);
    ASSERT_EQ(with.exit_code, 0) << describe(with);
    ASSERT_EQ(without.exit_code, 0) << describe(without);
    EXPECT_THAT(with.err, HasSubstr(kRecorded));
    EXPECT_THAT(without.err, Not(HasSubstr(kRecorded)));
    EXPECT_GT(figures("with").size(), 6U);
    EXPECT_EQ(figures("with"), figures("without"));
    require_same_tensors(folder_.path("with/saved/latest"), folder_.path("without/saved/latest"));
  }

  TemporaryFolder folder_;
};

class StepGraphOf : public StepGraphOnCuda,
                    public ::testing::WithParamInterface<std::pair<std::string, std::string>> {};

TEST_P(StepGraphOf, GivesTheBitsOfPlainSteps) {
  const auto& [stage, compute] = GetParam();
  expect_the_bits_of_plain_steps(
      {{"train.steps", "30"}, {"shard.stage", stage}, {"precision.compute", compute}});
}

TEST_P(StepGraphOf, StepsWithinBackwardToTheSameBits) {
  const auto& [stage, compute] = GetParam();
  Options options{{"train.steps", "30"},
                  {"shard.stage", stage},
                  {"precision.compute", compute},
                  {"optimizer.clip", "0"},
                  {"optimizer.in_backward", "true"}};
  const CommandResult within = train("within", "on", options);
  options["optimizer.in_backward"] = "false";
  const CommandResult after = train("after", "off", options);
  ASSERT_EQ(within.exit_code, 0) << describe(within);
  ASSERT_EQ(after.exit_code, 0) << describe(after);
  EXPECT_THAT(within.err, HasSubstr(kRecorded));
  EXPECT_EQ(figures("within"), figures("after"));
  require_same_tensors(folder_.path("within/saved/latest"), folder_.path("after/saved/latest"));
}

INSTANTIATE_TEST_SUITE_P(Strategies,
                         StepGraphOf,
                         ::testing::Values(std::pair("ddp", "fp32"),
                                           std::pair("ddp", "bf16"),
                                           std::pair("ddp:flat", "bf16"),
                                           std::pair("zero1", "bf16"),
                                           std::pair("zero2", "fp32"),
                                           std::pair("zero2", "bf16"),
                                           std::pair("zero3", "fp32"),
                                           std::pair("zero3", "bf16")),
                         [](const auto& given) {
                           std::string name = given.param.first + "_" + given.param.second;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

TEST_F(StepGraphOnCuda, TakesMomentsInBf16) {
  expect_the_bits_of_plain_steps({{"train.steps", "12"}, {"optimizer.moments", "bf16"}});
}

TEST_F(StepGraphOnCuda, TakesSgd) {
  expect_the_bits_of_plain_steps({{"train.steps", "12"}, {"optimizer.kind", "sgd"}});
}

TEST_F(StepGraphOnCuda, RunsPartialBatchesAlone) {
  expect_the_bits_of_plain_steps(
      {{"train.epochs", "3"}, {"batch.global", "96"}, {"batch.micro", "48"}});
  std::set<int> sizes;
  for (const auto& [step, record] : steps("with")) sizes.insert(record["tokens"].get<int>());
  EXPECT_GT(sizes.size(), 1U) << "no batch was partial";
}

TEST_F(StepGraphOnCuda, GoesOnFromACheckpointBitForBit) {
  const auto train_to = [&](const std::string& name, const std::string& steps) {
    return train(
        name,
        "on",
        {{"train.steps", steps}, {"schedule.total_steps", "20"}, {"checkpoint.every", "5"}});
  };
  const CommandResult whole = train_to("whole", "20");
  ASSERT_EQ(whole.exit_code, 0) << describe(whole);
  EXPECT_EQ(train_to("stopped", "11").exit_code, 0);
  EXPECT_THAT(train_to("stopped", "20").err, HasSubstr("going on from"));
  EXPECT_EQ(figures("stopped"), figures("whole"));
  require_same_tensors(folder_.path("stopped/saved/latest"), folder_.path("whole/saved/latest"));
}

TEST_F(StepGraphOnCuda, AccountsForTheTimeOfReplayedSteps) {
  const CommandResult result =
      train("timed", "on", {{"train.steps", "10"}, {"shard.stage", "zero2"}});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const auto all = steps("timed");
  ASSERT_THAT(all, SizeIs(10));
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    EXPECT_GT(all.at(10)["phases"][phase].get<double>(), 0) << phase << " of " << all.at(10);
  }
  // What a replay exchanges is counted as that of the steps before.
  EXPECT_EQ(all.at(10)["collectives"].size(), all.at(2)["collectives"].size());
}

TEST_F(StepGraphOnCuda, SaysWhyThereIsNone) {
  const Options dropping{
      {"train.steps", "3"}, {"schedule.warmup_steps", "1"}, {"model.dropout", "0.1"}};
  const CommandResult unsure = train("auto", "auto", dropping);
  EXPECT_EQ(unsure.exit_code, 0) << describe(unsure);
  EXPECT_THAT(unsure.err, HasSubstr("dropout (0.1)"));
  const CommandResult sure = train("on", "on", dropping);
  EXPECT_EQ(sure.exit_code, 2) << describe(sure);
  EXPECT_THAT(sure.err, HasSubstr("train.graph = on"));
}

}  // namespace
}  // namespace sheaf::testing
