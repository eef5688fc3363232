// Traces of real runs, as the program records and reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/traced_run.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

/// A run of two ranks whose steps 3, 4 and 5 were recorded; the same for all tests.
class TraceCommandTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    EXPECT_EQ(train(folder_->path(), {"--shard.stage=zero3"}).err, "");
  }
  static void TearDownTestSuite() { delete folder_; }

  [[nodiscard]] static json events_of(const std::string& name) {
    return json::parse(folder_->read(name)).at("traceEvents");
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* TraceCommandTest::folder_ = nullptr;

TEST_F(TraceCommandTest, FindsATraceOfEachRankAndOneOfAll) {
  EXPECT_THAT(folder_->names(),
              IsSupersetOf({"trace.json", "trace_rank0.json", "trace_rank1.json"}));
}

// What both make of the same spans; Kineto's own word is in the test below.
TEST_F(TraceCommandTest, SaysTheSameAsTheAccounting) {
  const json rank = trace_of({folder_->path()}).at("ranks").at(0);
  std::map<std::string, double> accounted;
  for (const json& step : accounted_steps(*folder_, 3, 5)) {
    const json& phases = step.at("phases");
    const auto phase = [&](const char* name) { return phases.at(name).get<double>(); };
    accounted["seconds"] += step.at("seconds").get<double>();
    accounted["compute"] += phase("forward") + phase("backward") + phase("optimizer");
    accounted["optimizer"] += phase("optimizer");
    accounted["data_wait"] += phase("data_wait");
    accounted["idle"] += phase("idle");
    accounted["exposed_communication"] += phase("exposed_communication");
    accounted["hidden_communication"] += phase("hidden_communication");
  }
  EXPECT_EQ(rank.at("steps"), 3);
  for (const auto& [name, seconds] : accounted) {
    EXPECT_NEAR(rank.at(name).get<double>(), seconds, 0.03 * seconds + 1e-6) << name;
  }
  EXPECT_GT(accounted["exposed_communication"], 0);
}

TEST_F(TraceCommandTest, CountsTheExchangesThatTheGroupsCounted) {
  const json report = trace_of({folder_->path()});
  ASSERT_THAT(report.at("ranks"), SizeIs(2));
  for (const json& rank : report.at("ranks")) {
    ASSERT_FALSE(rank.at("traffic").empty());
    EXPECT_THAT(rank.at("collectives"), SizeIs(rank.at("traffic").size()));
    for (json counted : rank.at("traffic")) {
      counted.erase("seconds");
      std::vector<json> seen = rank.at("collectives");
      for (json& each : seen) each.erase("seconds");
      EXPECT_THAT(seen, Contains(counted));
    }
  }
}

TEST_F(TraceCommandTest, FindsBothRanksInTheMergedTrace) {
  const json apart = trace_of({folder_->path()});
  const json merged = trace_of({folder_->path("trace.json")});
  ASSERT_THAT(merged.at("ranks"), SizeIs(2));
  for (const std::size_t rank : {0, 1}) {
    EXPECT_EQ(merged["ranks"][rank]["rank"], rank);
    EXPECT_EQ(merged["ranks"][rank]["collectives"].size(),
              apart["ranks"][rank]["collectives"].size());
    EXPECT_NEAR(merged["ranks"][rank]["compute"].get<double>(),
                apart["ranks"][rank]["compute"].get<double>(),
                1e-5);
  }
}

TEST_F(TraceCommandTest, HasTheNamesOfUnitsGathersReducesOptimizerAndData) {
  std::vector<std::string> names;
  for (const json& event : events_of("trace_rank0.json")) {
    if (event.value("cat", "") == "sheaf") names.push_back(event.at("name"));
  }
  EXPECT_THAT(names,
              IsSupersetOf({"step 3",
                            "step 4",
                            "step 5",
                            "data",
                            "forward",
                            "backward",
                            "optimizer",
                            "forward transformer.h.0",
                            "backward transformer.h.1",
                            "gather transformer.h.0",
                            "reduce transformer.h.1"}));
}

TEST_F(TraceCommandTest, CountsTheOperatorsOfTheStepsAndNoOthers) {
  const json events = events_of("trace_rank0.json");
  const std::vector<Range> steps = ranges_in(events, "step");
  std::map<std::string, std::int64_t> calls;
  for (const json& event : events) {
    if (event.value("cat", "") != "cpu_op" || !is_in(event.at("ts"), steps)) continue;
    ++calls[event.at("name")];
  }
  EXPECT_GT(calls.size(), 20U);
  std::map<std::string, std::int64_t> reported;
  const json report = trace_of({folder_->path()});
  for (const json& row : report.at("ranks").at(0).at("operators")) {
    reported[row.at("name")] = row.at("calls");
  }
  EXPECT_EQ(reported, calls);
}

// Kineto reads another clock than the spans, so its functions are where they belong only if both
// were made one.
TEST_F(TraceCommandTest, HasOperatorsAndRangesByOneClock) {
  const json events = events_of("trace_rank0.json");
  const std::vector<Range> passes = ranges_in(events, "backward");
  const std::vector<Range> functions = backward_functions(events);
  EXPECT_GT(functions.size(), 50U);
  for (const Range& function : functions) EXPECT_TRUE(is_in(function.begin, passes));
}

// Steps of some hundred milliseconds, of which Kineto sees nearly all of backward. Not so forward
// and the optimizer: kernels of sheaf's own are no operators. Most steps shall agree, not all: one
// that loses its core between two functions has a gap that is backward only for the accounting.
TEST(TraceOfOneRank, HasTheBackwardPassesOfTheAccountingInKinetosEvents) {
  const TemporaryFolder folder;
  static_cast<void>(train(folder.path(),
                          {"--shard.stage=ddp",
                           "--ranks=1",
                           "--model.width=256",
                           "--model.context=128",
                           "--batch.global=8",
                           "--train.steps=12",
                           "--profile.steps=3:11"}));
  const std::vector<json> accounted = accounted_steps(folder, 3, 11);
  const json events = json::parse(folder.read("trace_rank0.json")).at("traceEvents");
  const std::vector<double> traced = backward_seconds(events);
  ASSERT_THAT(accounted, SizeIs(9));
  ASSERT_THAT(traced, SizeIs(9));
  std::vector<double> differences;
  for (std::size_t i = 0; i < traced.size(); ++i) {
    const double backward = accounted[i].at("phases").at("backward");
    differences.push_back(std::abs(traced[i] / backward - 1));
  }
  std::ranges::sort(differences);
  EXPECT_LE(differences[4], 0.03) << ::testing::PrintToString(differences);
}

// Viewers lose ranges that begin inside of another and end after it.
TEST_F(TraceCommandTest, HasRangesThatLieInEachOther) {
  std::map<std::string, std::vector<Range>> tracks;
  for (const json& event : events_of("trace.json")) {
    if (event.value("cat", "") != "sheaf" || event.at("ph") != "X") continue;
    tracks[event.at("pid").dump() + event.at("tid").dump()].push_back(range_of(event));
  }
  EXPECT_GE(tracks.size(), 8U);
  // What adding up microseconds may lose.
  constexpr double kRounding = 0.01;
  for (auto& [track, ranges] : tracks) {
    std::ranges::sort(ranges, [](const Range& a, const Range& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Range> open;
    for (const Range& range : ranges) {
      while (!open.empty() && open.back().end <= range.begin + kRounding) open.pop_back();
      if (!open.empty()) EXPECT_LE(range.end, open.back().end + kRounding) << track;
      open.push_back(range);
    }
  }
}

// A collective ends on all ranks after the last one has begun it: so their clocks agree.
TEST_F(TraceCommandTest, HasOneClockForAllRanks) {
  struct Call {
    double last_begin = 0;
    double first_end = 1e300;
    int ranks = 0;
  };
  std::map<std::string, Call> calls;
  for (const json& event : events_of("trace.json")) {
    if (event.value("cat", "") != "sheaf" || !event.at("args").contains("group")) continue;
    Call& call = calls[event["args"]["group"].dump() + event["args"]["call"].dump()];
    const double begin = event.at("ts");
    call.last_begin = std::max(call.last_begin, begin);
    call.first_end = std::min(call.first_end, begin + event.at("dur").get<double>());
    ++call.ranks;
  }
  EXPECT_GT(calls.size(), 20U);
  // Clocks are read one after the other.
  constexpr double kSlackUs = 200;
  for (const auto& [number, call] : calls) {
    EXPECT_EQ(call.ranks, 2) << number;
    EXPECT_LE(call.last_begin, call.first_end + kSlackUs) << number;
  }
}

TEST_F(TraceCommandTest, PrintsTablesAndVerdicts) {
  const CommandResult result =
      run_command({SHEAF_PROGRAM, "trace", folder_->path(), "--min-compute=0", "--max-idle=1h"});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(result.out, HasSubstr("compute ms"));
  EXPECT_THAT(result.out, HasSubstr("collectives of rank 0"));
  EXPECT_THAT(result.out, HasSubstr("all_gather"));
  EXPECT_THAT(result.out, HasSubstr("aten::"));
  EXPECT_THAT(result.out, HasSubstr("pass: compute"));
  EXPECT_THAT(result.out, HasSubstr("overlap"));
  EXPECT_THAT(result.out, HasSubstr("pass: idle"));
}

TEST_F(TraceCommandTest, ShowsWhatAnotherStrategyDoesDifferently) {
  const TemporaryFolder ddp;
  static_cast<void>(train(ddp.path(), {"--shard.stage=ddp"}));
  const json difference = trace_of({folder_->path(), "--against", ddp.path()});
  const auto traffic_of = [](const std::string& folder) {
    return trace_of({folder}).at("ranks").at(0).at("traffic");
  };
  const json before = traffic_of(ddp.path());
  const json after = traffic_of(folder_->path());
  const auto count = [](const json& traffic, const std::string& name, const char* what) {
    for (const json& row : traffic) {
      const std::string both =
          row["collective"].get<std::string>() + " " + row["purpose"].get<std::string>();
      if (both == name) return row[what].get<std::int64_t>();
    }
    return std::int64_t{0};
  };
  std::map<std::string, std::string> changes;
  for (const json& row : difference.at("collectives")) {
    const std::string name = row["name"];
    changes[name] = row["change"];
    EXPECT_EQ(row["calls_before"], count(before, name, "calls")) << name;
    EXPECT_EQ(row["bytes_before"], count(before, name, "bytes")) << name;
    EXPECT_EQ(row["calls_after"], count(after, name, "calls")) << name;
    EXPECT_EQ(row["bytes_after"], count(after, name, "bytes")) << name;
  }
  EXPECT_EQ(changes["all_reduce gradients"], "removed");
  EXPECT_EQ(changes["reduce_scatter gradients"], "new");
  EXPECT_EQ(changes["all_gather parameters"], "new");
  EXPECT_EQ(changes["all_reduce loss"], "same");
}

TEST(TraceFolder, HasNoTracesOfALargerRunBefore) {
  const TemporaryFolder folder;
  folder.write("trace_rank1.json", "of a run with three ranks");
  folder.write("trace_rank2.json", "of a run with three ranks");
  static_cast<void>(train(folder.path(), {"--ranks=1"}));
  EXPECT_THAT(folder.names(), Not(Contains("trace_rank1.json")));
  EXPECT_THAT(folder.names(), Not(Contains("trace_rank2.json")));
  EXPECT_THAT(trace_of({folder.path()}).at("ranks"), SizeIs(1));
}

TEST(TraceOfAResumedRun, IsSaidToBeMissingWhereItsStepsAreDone) {
  const TemporaryFolder folder;
  const std::string saves = "--checkpoint.dir=" + folder.path("saved");
  static_cast<void>(train(folder.path("first"), {"--ranks=1", saves}));
  const CommandResult resumed =
      train(folder.path("second"), {"--ranks=1", saves, "--train.steps=8"});
  EXPECT_THAT(resumed.err, HasSubstr("no trace is recorded: the run goes on after step 6"));
  EXPECT_THAT(resumed.err, HasSubstr("profile.steps = 3:5"));
}

TEST(TraceOfARunThatWentBack, HasEveryStepOnce) {
  const TemporaryFolder folder;
  const CommandResult result = train(folder.path(),
                                     {"--checkpoint.dir=" + folder.path("saved"),
                                      "--checkpoint.every=2",
                                      "--fault.nonfinite=rollback",
                                      "--fault.inject=set_gradient:step=4"});
  EXPECT_THAT(result.err, HasSubstr("the run goes back to the end of step 2"));
  const json events = json::parse(folder.read("trace_rank0.json")).at("traceEvents");
  EXPECT_THAT(ranges_in(events, "step"), SizeIs(3));
  const json rank = trace_of({folder.path()}).at("ranks").at(0);
  EXPECT_EQ(rank.at("steps"), 3);
  int losses = 0;
  for (const json& each : rank.at("collectives")) {
    if (each.at("purpose") == "loss") losses += each.at("calls").get<int>();
  }
  EXPECT_EQ(losses, 3);
}

TEST(ProfileOptions, SayNothingOfTimeWithoutAccounting) {
  const TemporaryFolder folder;
  const CommandResult result =
      train(folder.path(), {"--profile.accounting=false", "--shard.stage=zero3"});
  EXPECT_THAT(result.out, Not(HasSubstr("compute 9")));
  EXPECT_THAT(result.out, Not(HasSubstr("time per step")));
  for (const json& step : accounted_steps(folder, 1, 6)) {
    EXPECT_TRUE(step.at("phases").is_null());
    EXPECT_TRUE(step.at("collectives").is_null());
    EXPECT_GT(step.at("seconds"), 0);
  }
  // A trace has all of it, whoever else wants to know.
  EXPECT_GT(trace_of({folder.path()}).at("ranks").at(0).at("exposed_communication"), 0);
}

TEST_F(TraceCommandTest, RefusesWhatIsNoTrace) {
  const std::string broken = folder_->write("broken.json", R"({"traceEvents": [{"ph": )");
  const CommandResult result = run_command({SHEAF_PROGRAM, "trace", broken});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("its JSON is broken at byte"));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
}

TEST(ProfileOptions, AreRefusedWithoutAFolder) {
  const CommandResult result =
      run_command({SHEAF_PROGRAM, "train", "--train.steps=3", "--profile.steps=1:2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("profile.steps needs log.dir"));
}

}  // namespace
}  // namespace sheaf::cli
