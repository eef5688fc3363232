// Real recordings of this process, read back.
#include "sheaf/profile/recording.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "sheaf/profile/trace_report.h"
#include "support/temporary_folder.h"

namespace sheaf::profile {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::SizeIs;

/// Times a product by hand while it is recorded, and writes the trace.
struct Recorded {
  testing::TemporaryFolder folder;
  Recorder recorder;
  Interval step;
  Interval product;

  explicit Recorded(int rank = 0) {
    Recording recording(/*with_cuda=*/false);
    const at::Tensor a = at::randn({300, 300});
    step.begin = Recorder::now();
    product.begin = Recorder::now();
    static_cast<void>(at::mm(a, a));
    product.end = Recorder::now();
    std::thread([&] { static_cast<void>(a.add(1)); }).join();
    step.end = Recorder::now();
    TraceNotes notes{.rank = rank, .ranks = 2, .strategy = "zero3"};
    notes.steps = {{.number = 7, .window = step}};
    notes.spans = {{.kind = SpanKind::forward, .begin = product.begin, .end = product.end},
                   {.kind = SpanKind::collective,
                    .begin = product.begin,
                    .end = product.end,
                    .unit = recorder.label("h.3"),
                    .what = "all_gather",
                    .purpose = "parameters",
                    .bytes = 512,
                    .group = recorder.label("world")}};
    notes.traffic = {{"all_gather", "parameters", {.calls = 1, .bytes = {512}}}};
    recording.save(folder.path("trace.json"), notes, recorder);
  }

  [[nodiscard]] Trace trace() const { return read_trace(folder.path("trace.json")); }
  [[nodiscard]] json text() const { return json::parse(folder.read("trace.json")); }
};

const TraceEvent& event_named(const Trace& trace, const std::string& name) {
  for (const TraceEvent& event : trace.events) {
    if (trace.names[event.name] == name) return event;
  }
  throw std::logic_error("no event " + name);
}

TEST(Recording, SeesOperatorsOfAllThreads) {
  const Recorded recorded;
  const Trace trace = recorded.trace();
  EXPECT_EQ(event_named(trace, "aten::mm").kind, EventKind::operation);
  EXPECT_NE(event_named(trace, "aten::add").thread, event_named(trace, "aten::mm").thread);
}

TEST(Recording, PutsNamedRangesIntoTheTimeOfTheOperators) {
  const Recorded recorded;
  const Trace trace = recorded.trace();
  const Interval product = event_named(trace, "forward").time;
  const Interval mm = event_named(trace, "aten::mm").time;
  // The clocks are read one after the other.
  constexpr std::int64_t kSlack = 200'000;
  EXPECT_EQ(product.length(), recorded.product.length());
  EXPECT_GE(mm.begin, product.begin - kSlack);
  EXPECT_LE(mm.end, product.end + kSlack);
}

TEST(Recording, SaysInWordsWhatARangeIsAndHasTheNumbersBeside) {
  const json trace = Recorded().text();
  std::vector<std::string> names;
  for (const json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") != "sheaf") continue;
    names.push_back(event.at("name"));
    if (names.back() != "gather h.3") continue;
    EXPECT_EQ(event.at("args").at("bytes"), 512);
    EXPECT_EQ(event.at("args").at("collective"), "all_gather");
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("step 7", "forward", "gather h.3"));
}

TEST(Recording, KnowsItsRankStrategyAndTraffic) {
  const Trace trace = Recorded(/*rank=*/1).trace();
  ASSERT_THAT(trace.owners, SizeIs(1));
  EXPECT_EQ(trace.owners[0].rank, 1);
  EXPECT_EQ(trace.owners[0].strategy, "zero3");
  ASSERT_THAT(trace.owners[0].traffic, SizeIs(1));
  EXPECT_EQ(trace.owners[0].traffic[0].exchanged.bytes, Bytes{512});
}

TEST(Recording, LeavesNothingButTheTrace) {
  EXPECT_THAT(Recorded().folder.names(), ::testing::ElementsAre("trace.json"));
}

TEST(Recording, IsOneAtATime) {
  const auto first = std::make_unique<Recording>(false);
  EXPECT_THROW(Recording(false), UsageError);
}

TEST(Recording, CanBeTakenAgainAfterOneThatWasGivenUp) {
  { const Recording given_up(false); }
  EXPECT_NO_THROW(static_cast<void>(Recorded()));
}

TEST(Recording, SaysWhereItCannotWrite) {
  Recording recording(false);
  EXPECT_THROW(recording.save("/no/such/folder/trace.json", {}, Recorder()), IoError);
}

}  // namespace
}  // namespace sheaf::profile
