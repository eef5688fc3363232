// What is no trace is refused in one sentence, whatever it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profile/small_traces.h"
#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "sheaf/profile/trace_report.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MalformedTrace : public ::testing::Test {
 protected:
  [[nodiscard]] std::string error_for(const std::string& text) const {
    const std::string path = folder_.write("a.json", text);
    const std::string error = testing::error_of([&] { static_cast<void>(read_trace(path)); });
    EXPECT_THAT(error, HasSubstr("a.json"));
    EXPECT_THAT(error, Not(HasSubstr("\n")));
    return error;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(MalformedTrace, IsRefusedWhereItBreaksOff) {
  const std::string whole = trace_text({event("cpu_op", "aten::mm", {1, 2})});
  EXPECT_THAT(error_for(whole.substr(0, 60)), HasSubstr("broken at byte"));
  EXPECT_THAT(error_for(""), HasSubstr("broken at byte"));
  EXPECT_THAT(error_for("not JSON"), HasSubstr("broken at byte 2"));
}

TEST_F(MalformedTrace, IsRefusedWithoutEvents) {
  EXPECT_THAT(error_for("{}"), HasSubstr("no list named traceEvents"));
  EXPECT_THAT(error_for("7"), HasSubstr("no list named traceEvents"));
  EXPECT_THAT(error_for(R"({"traceEvents": 3})"), HasSubstr("no list named traceEvents"));
  EXPECT_THAT(error_for(R"({"traceEvents": []})"), HasSubstr("no operators"));
}

TEST_F(MalformedTrace, IsRefusedWithTheNumberOfAWrongEvent) {
  const std::string good = event("cpu_op", "aten::mm", {1, 2});
  EXPECT_THAT(error_for(trace_text({good, "5"})), HasSubstr("an event that is none, number 1"));
  EXPECT_THAT(error_for(trace_text({good, R"({"ph": "X", "cat": "kernel", "ts": 1})"})),
              HasSubstr("event 1 has no number for dur"));
  EXPECT_THAT(error_for(trace_text({R"({"ph": "X", "cat": "kernel", "ts": "soon", "dur": 1})"})),
              HasSubstr("event 0 has no number for ts"));
  EXPECT_THAT(error_for(trace_text({R"({"ph": "X", "cat": "kernel", "ts": 1e300, "dur": 1})"})),
              HasSubstr("beyond all times"));
  EXPECT_THAT(error_for(trace_text({R"({"ph": "X", "cat": "kernel", "ts": 1, "dur": -1})"})),
              HasSubstr("event 0 ends before it begins"));
}

TEST_F(MalformedTrace, IsRefusedWithImpossibleBytes) {
  for (const std::int64_t bytes : {std::int64_t{-1}, (std::int64_t{1} << 40) + 1}) {
    EXPECT_THAT(error_for(trace_text({exchange("all_gather", "parameters", bytes, {1, 2})})),
                HasSubstr(fmt::format("no possible number of bytes: {}", bytes)));
  }
}

TEST_F(MalformedTrace, IsRefusedWhenItIsNestedWithoutEnd) {
  EXPECT_THAT(error_for(std::string(200, '[')), HasSubstr("nested too deeply"));
}

TEST_F(MalformedTrace, IsSaidToBeMissing) {
  const std::string error =
      testing::error_of([] { static_cast<void>(read_trace("/no/such.json")); });
  EXPECT_THAT(error, HasSubstr("cannot read the trace /no/such.json"));
  const std::string folder =
      testing::error_of([&] { static_cast<void>(read_trace(folder_.path())); });
  EXPECT_THAT(folder, HasSubstr("has no trace_rank0.json"));
}

// Any byte of a trace may be wrong: it is read or refused, but nothing worse happens.
TEST_F(MalformedTrace, IsReadOrRefusedWithAnyByteChanged) {
  const std::string whole =
      trace_text({event("cpu_op", "aten::mm", {1, 2}),
                  exchange("all_gather", "parameters", 4096, {1, 2}),
                  range("forward", {0, 9})},
                 R"("sheaf": {"rank": 0, "traffic": [{"collective": "all_gather", "calls": 5}]},)");
  std::mt19937 random(9);
  std::uniform_int_distribution<std::size_t> place(0, whole.size() - 1);
  std::uniform_int_distribution<int> byte(0, 255);
  int refused = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    std::string text = whole;
    text[place(random)] = static_cast<char>(byte(random));
    const std::string path = folder_.write("a.json", text);
    try {
      static_cast<void>(report_on(read_trace(path)));
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace sheaf::profile
