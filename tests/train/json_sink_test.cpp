#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sheaf/base/error.h"
#include "sheaf/train/sinks.h"
#include "support/on_ranks.h"
#include "train/sample_run.h"

namespace sheaf::train {
namespace {

using nlohmann::json;
using testing::sample_info;
using testing::sample_progress;
using testing::sample_step;
using testing::sample_summary;
using testing::TemporaryFolder;

class JsonSink : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "metrics.jsonl"; }
  [[nodiscard]] std::vector<json> lines() const {
    std::vector<json> parsed;
    std::ifstream stream(file());
    for (std::string line; std::getline(stream, line);) parsed.push_back(json::parse(line));
    return parsed;
  }
  // Returns what the sink writes after the line of the start.
  json written(const std::function<void(Sink&)>& tell) {
    const auto sink = json_sink(folder_.path());
    sink->start(sample_info());
    tell(*sink);
    // Read while the sink is open: every line is there at once.
    return lines().back();
  }

  TemporaryFolder folder_;
};

TEST_F(JsonSink, StartsWithTheRun) {
  json_sink(folder_.path())->start(sample_info());
  const json line = lines().front();
  EXPECT_EQ(line["event"], "start");
  EXPECT_EQ(line["model"], "gpt2");
  EXPECT_EQ(line["parameters"], 124'439'808);
  EXPECT_EQ(line["ranks"], 4);
  EXPECT_EQ(line["devices"], 4);
  EXPECT_EQ(line["planned_memory"]["gradients"], 1 << 20);
  EXPECT_EQ(line["peak_flops_per_device"], 1e12);
  EXPECT_THAT(line["time"].get<std::string>(), ::testing::EndsWith("Z"));
}

TEST_F(JsonSink, WritesAStep) {
  const json line = written([](Sink& sink) { sink.step(sample_step(7), sample_progress()); });
  EXPECT_EQ(line["event"], "step");
  EXPECT_EQ(line["step"], 7);
  EXPECT_EQ(line["epoch"], 1);
  EXPECT_EQ(line["loss"], 2.5);
  EXPECT_EQ(line["learning_rate"], 3e-4);
  EXPECT_EQ(line["gradient_norm"], 1.25);
  EXPECT_EQ(line["tokens"], 1000);
  EXPECT_EQ(line["seconds"], 0.5);
  EXPECT_EQ(line["phases"]["exposed_communication"], 0.05);
  EXPECT_EQ(line["phases"]["hidden_communication"], 0.04);
  EXPECT_EQ(line["phases"]["idle"], 0.1);
  EXPECT_EQ(line["memory"]["peak_resident"], std::int64_t{2} << 30);
  EXPECT_EQ(line["sample_hash"], "0000000000000abc");
  EXPECT_EQ(line["skipped"], false);
}

TEST_F(JsonSink, WritesTheExchangesOfAStep) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.collectives = {{"all_reduce", "loss", {.calls = 2, .bytes = {16}, .time = Seconds(0.5)}}};
    sink.step(step, sample_progress());
  });
  EXPECT_EQ(line["collectives"],
            json::parse(R"([{"collective": "all_reduce", "purpose": "loss", "calls": 2,
                             "bytes": 16, "seconds": 0.5}])"));
}

TEST_F(JsonSink, WritesTheUnitsOfAStep) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.units = {{.unit = "h.0", .backward = Seconds(2), .reduces = {.calls = 1}}};
    sink.step(step, sample_progress());
  });
  EXPECT_EQ(line["units"][0]["unit"], "h.0");
  EXPECT_EQ(line["units"][0]["backward"], 2);
  EXPECT_EQ(line["units"][0]["reduces"]["calls"], 1);
}

TEST_F(JsonSink, WritesNullWhereNobodyKeptAccount) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.phases = {};
    sink.step(step, sample_progress());
  });
  EXPECT_EQ(line["seconds"], 0.5);
  for (const char* part : {"phases", "collectives", "units"}) EXPECT_TRUE(line[part].is_null());
}

TEST_F(JsonSink, WritesThePhasesOfEveryRankAtTheEnd) {
  Summary summary = testing::sample_summary();
  summary.phases_by_rank = {{.forward = Seconds(1)}, {.forward = Seconds(2)}};
  const json line = written([&](Sink& sink) { sink.end(summary); });
  ASSERT_EQ(line["phases_by_rank"].size(), 2U);
  EXPECT_EQ(line["phases_by_rank"][1]["forward"], 2);
}

TEST_F(JsonSink, WritesWhoWasSlowAtTheEnd) {
  Summary summary = testing::sample_summary();
  summary.units = {{.unit = "h.0", .forward = Seconds(1), .gathers = {.calls = 4}}};
  summary.imbalance.straggler =
      profile::Straggler{.rank = 2, .phase = "forward", .excess = Seconds(0.5), .share = 0.25};
  const json line = written([&](Sink& sink) { sink.end(summary); });
  EXPECT_EQ(line["straggler"]["rank"], 2);
  EXPECT_EQ(line["straggler"]["phase"], "forward");
  EXPECT_EQ(line["units"][0]["unit"], "h.0");
  EXPECT_EQ(line["units"][0]["gathers"]["calls"], 4);
}

TEST_F(JsonSink, WritesAStepsOwnSpeedAndTheMean) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.time = Seconds(0.25);
    sink.step(step, sample_progress());
  });
  EXPECT_EQ(line["items_per_second"], 4000);
  EXPECT_DOUBLE_EQ(line["mfu"], 4000 * 1000 / 4e12);
  EXPECT_EQ(line["mean_items_per_second"], 2000);
  EXPECT_EQ(line["mean_mfu"], 0.4);
}

TEST_F(JsonSink, WritesTheCostSoFar) {
  Progress progress = sample_progress();
  const auto write = [&](Sink& sink) { sink.step(sample_step(7), progress); };
  EXPECT_TRUE(written(write)["cost"].is_null());
  progress.cost = 1.25;
  EXPECT_EQ(written(write)["cost"], 1.25);
}

TEST_F(JsonSink, KeepsLinesValidWhenTheLossIsNot) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.loss = NAN;
    step.gradient_norm = -INFINITY;
    sink.step(step, sample_progress());
  });
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_EQ(line["loss_text"], "nan");
  EXPECT_TRUE(line["gradient_norm"].is_null());
  EXPECT_EQ(line["gradient_norm_text"], "-inf");
}

TEST_F(JsonSink, WritesNullForWhatIsUnknown) {
  const json line = written([](Sink& sink) {
    StepRecord step = sample_step(7);
    step.gradient_norm.reset();
    sink.step(step, {});
  });
  EXPECT_TRUE(line["gradient_norm"].is_null());
  EXPECT_FALSE(line.contains("gradient_norm_text"));
  EXPECT_TRUE(line["mean_mfu"].is_null());
}

TEST_F(JsonSink, WritesAnEvaluation) {
  const json line = written([](Sink& sink) { sink.evaluation(testing::sample_evaluation()); });
  EXPECT_EQ(line, json::parse(R"({"event": "evaluation", "step": 100, "epoch": 2, "loss": 2.0,
                            "accuracy": null, "tokens": 5000, "seconds": 1.5})"));
}

TEST_F(JsonSink, WritesASampleOfAnyBytes) {
  const json line = written([](Sink& sink) { sink.sample(5, "a\n\xff\"b"); });
  EXPECT_EQ(line["text"], "a\n\ufffd\"b");
}

TEST_F(JsonSink, WritesTheEnd) {
  const json line = written([](Sink& sink) { sink.end(sample_summary()); });
  EXPECT_EQ(line["event"], "end");
  EXPECT_EQ(line["steps"], 200);
  EXPECT_TRUE(line["interrupted"].is_null());
  EXPECT_EQ(line["last_loss"], 2.125);
  EXPECT_EQ(line["evaluation"]["loss"], 2.0);
  EXPECT_EQ(line["mfu_band"], "very good");
  EXPECT_EQ(line["memory"].size(), 2U);
  EXPECT_EQ(line["epoch_seconds"], json({40.0, 44.0}));
  EXPECT_TRUE(line["cost"].is_null());
}

TEST_F(JsonSink, SaysWhyTheRunWasInterrupted) {
  const json line = written([](Sink& sink) {
    Summary summary = sample_summary();
    summary.interrupted = "interrupted by SIGINT";
    summary.evaluation.reset();
    sink.end(summary);
  });
  EXPECT_EQ(line["interrupted"], "interrupted by SIGINT");
  EXPECT_TRUE(line["evaluation"].is_null());
}

TEST_F(JsonSink, AppendsToAnEarlierRunThatWasCutShort) {
  json_sink(folder_.path())->start(sample_info());
  std::ofstream(file(), std::ios::app) << R"({"event": "st)";
  json_sink(folder_.path())->start(sample_info());
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(JsonSink, NamesAFolderThatCannotBeMade) {
  std::ofstream(folder_.path() / "taken") << "";
  EXPECT_THROW((void)json_sink(folder_.path() / "taken"), IoError);
  EXPECT_THAT(testing::error_of([&] { (void)json_sink("/proc/none/logs"); }),
              ::testing::HasSubstr("/proc/none/logs"));
}

}  // namespace
}  // namespace sheaf::train
