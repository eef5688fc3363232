#include "sheaf/profile/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/small_traces.h"
#include "support/temporary_folder.h"

namespace sheaf::profile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class TraceTest : public ::testing::Test {
 protected:
  [[nodiscard]] Trace read(const std::string& text) const {
    return read_trace(folder_.write("a.json", text));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(TraceTest, ReadsOperatorsWithNanoseconds) {
  const Trace trace = read(trace_text({event("cpu_op", "aten::mm", {1.5, 4.125})}));
  ASSERT_THAT(trace.events, SizeIs(1));
  EXPECT_EQ(trace.events[0].kind, EventKind::operation);
  EXPECT_EQ(trace.names[trace.events[0].name], "aten::mm");
  EXPECT_EQ(trace.events[0].time, (Interval{1500, 4125}));
}

TEST_F(TraceTest, ReadsNamedRanges) {
  const Trace trace = read(
      trace_text({range("forward", {0, 9}), exchange("all_gather", "parameters", 4096, {1, 2})}));
  ASSERT_THAT(trace.events, SizeIs(2));
  EXPECT_EQ(trace.events[0].kind, EventKind::forward);
  EXPECT_EQ(trace.events[1].kind, EventKind::collective);
  EXPECT_EQ(trace.names[trace.events[1].name], "all_gather");
  EXPECT_EQ(trace.names[trace.events[1].purpose], "parameters");
  EXPECT_EQ(trace.events[1].bytes, 4096);
}

TEST_F(TraceTest, LeavesOutWhatReportsDoNotNeed) {
  const Trace trace = read(trace_text({event("cpu_op", "aten::mm", {1, 2}),
                                       event("python_function", "f", {1, 2}),
                                       R"({"ph": "M", "name": "process_name", "pid": 1})",
                                       R"({"ph": "s", "id": 7, "ts": 3, "pid": 1})"}));
  EXPECT_THAT(trace.events, SizeIs(1));
}

TEST_F(TraceTest, ReadsABareListOfEvents) {
  EXPECT_THAT(read("[" + event("cpu_op", "aten::mm", {1, 2}) + "]").events, SizeIs(1));
}

TEST_F(TraceTest, TakesOnlyTheListOfEventsForEvents) {
  const Trace trace = read(trace_text({event("cpu_op", "aten::mm", {1, 2})},
                                      R"("deviceProperties": [{"id": 0}], "other": {"a": [{}]},)"));
  EXPECT_THAT(trace.events, SizeIs(1));
}

TEST_F(TraceTest, KnowsWhoseItIs) {
  const Trace trace = read(trace_text(
      {event("cpu_op", "aten::mm", {1, 2})},
      R"("sheaf": {"rank": 3, "strategy": "zero3", "traffic": [{"collective": "all_gather",)"
      R"("purpose": "parameters", "calls": 5, "bytes": 60}]},)"));
  ASSERT_THAT(trace.owners, SizeIs(1));
  EXPECT_EQ(trace.owners[0].rank, 3);
  EXPECT_EQ(trace.owners[0].strategy, "zero3");
  ASSERT_THAT(trace.owners[0].traffic, SizeIs(1));
  EXPECT_EQ(trace.owners[0].traffic[0].exchanged.calls, 5);
  EXPECT_EQ(trace.owners[0].traffic[0].exchanged.bytes, Bytes{60});
  EXPECT_EQ(trace.events[0].rank, 3);
}

TEST_F(TraceTest, ReadsTheRankThatPyTorchWrites) {
  const Trace trace = read(trace_text({event("cpu_op", "aten::mm", {1, 2})},
                                      R"("distributedInfo": {"backend": "nccl", "rank": 2},)"));
  EXPECT_EQ(trace.owners.at(0).rank, 2);
}

TEST_F(TraceTest, ReadsAllRanksOfAFolder) {
  for (const int rank : {0, 1}) {
    static_cast<void>(folder_.write(trace_name(rank),
                                    trace_text({event("cpu_op", "aten::mm", {1, 2})},
                                               fmt::format(R"("sheaf": {{"rank": {}}},)", rank))));
  }
  const Trace trace = read_trace(folder_.path());
  EXPECT_THAT(trace.owners, SizeIs(2));
  ASSERT_THAT(trace.events, SizeIs(2));
  EXPECT_EQ(trace.events[1].rank, 1);
  EXPECT_THAT(trace.names, SizeIs(1));
}

TEST_F(TraceTest, PutsTheClocksOfRanksTogetherWhenTheyAreMerged) {
  std::vector<TracePart> parts;
  for (const int rank : {0, 1}) {
    parts.push_back(
        {.path = folder_.write(trace_name(rank),
                               trace_text({event("cpu_op", "aten::mm", {10, 20})},
                                          fmt::format(R"("sheaf": {{"rank": {}}},)", rank))),
         .rank = rank,
         // Rank 1's clock is 3 microseconds behind.
         .clock_shift = rank * 3000});
  }
  merge_traces(parts, folder_.path("all.json"));
  const Trace trace = read_trace(folder_.path("all.json"));
  EXPECT_THAT(trace.owners, SizeIs(2));
  ASSERT_THAT(trace.events, SizeIs(2));
  EXPECT_EQ(trace.events[0].time, (Interval{10000, 20000}));
  EXPECT_EQ(trace.events[0].rank, 0);
  EXPECT_EQ(trace.events[1].time, (Interval{13000, 23000}));
  EXPECT_EQ(trace.events[1].rank, 1);
  EXPECT_NE(trace.events[0].thread, trace.events[1].thread);
}

TEST_F(TraceTest, CountsFromTheFirstRanksBaseWhenMerged) {
  const std::string early = trace_text({event("cpu_op", "aten::mm", {10, 20})});
  std::string late = early;
  late.replace(late.find("1000000"), 7, "1005000");
  merge_traces({{.path = folder_.write("0.json", early), .rank = 0},
                {.path = folder_.write("1.json", late), .rank = 1}},
               folder_.path("all.json"));
  const Trace trace = read_trace(folder_.path("all.json"));
  EXPECT_EQ(trace.events.at(1).time, (Interval{15000, 25000}));
}

}  // namespace
}  // namespace sheaf::profile
