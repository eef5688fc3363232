#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Json on_gpu() {
  return Json::parse(R"({"measured": {"peak": 1048576, "reserved": 4194304, "active_peak": 2097152,
    "segments": 2, "unusable": 0, "retries": 0,
    "segment_list": [{"size": 3145728, "in_use": 1048576}, {"size": 1048576, "in_use": 0}],
    "history": [{"seconds": 0.0, "in_use": 0, "reserved": 1048576},
                {"seconds": 0.5, "in_use": 1048576, "reserved": 4194304}]}})");
}

TEST(AllocatorBlocks, AreThereOnGpusOnly) {
  EXPECT_THAT(allocator_blocks({{"one rank", {{"measured", {{"peak", 1}}}}}}), IsEmpty());
}

TEST(AllocatorBlocks, ShowHistoryAndSegmentsOfOneRankAndZero3) {
  const Json blocks =
      allocator_blocks({{"one rank", on_gpu()}, {"ddp", on_gpu()}, {"zero3", on_gpu()}});
  ASSERT_THAT(blocks, SizeIs(3));
  EXPECT_THAT(blocks[0]["rows"], SizeIs(3));
  const Json& pair = blocks[2]["blocks"];
  EXPECT_EQ(pair[0]["title"], "Allocator history, zero3");
  EXPECT_EQ(pair[0]["series"][1]["points"][1]["y"], 4.0);
  EXPECT_EQ(pair[1]["title"], "Cached segments, zero3");
  EXPECT_EQ(pair[1]["series"][1]["values"][0], 2.0);
}

}  // namespace
}  // namespace sheaf::study
