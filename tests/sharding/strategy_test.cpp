#include "sheaf/sharding/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::sharding {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(Strategy, IsReadAndWrittenAlike) {
  for (const char* text : {"ddp",
                           "ddp:flat",
                           "ddp:bucketed",
                           "zero1:flat",
                           "zero2",
                           "zero3",
                           "zero3:wrap",
                           "hybrid:zero1",
                           "hybrid:zero3"}) {
    EXPECT_EQ(to_string(parse_strategy(text)), text);
  }
}

TEST(Strategy, NamesStagePolicyAndMesh) {
  EXPECT_EQ(parse_strategy("zero1:flat"),
            (Strategy{.stage = Stage::zero1, .policy = Policy::flat}));
  EXPECT_EQ(parse_strategy("hybrid:zero2"), (Strategy{.stage = Stage::zero2, .hybrid = true}));
}

TEST(Strategy, KnowsTheNamesOfFsdp) {
  EXPECT_EQ(parse_strategy("FULL_SHARD"), parse_strategy("zero3"));
  EXPECT_EQ(parse_strategy("HYBRID_SHARD"), parse_strategy("hybrid:zero3"));
  EXPECT_EQ(parse_strategy("NO_SHARD"), parse_strategy("ddp"));
  EXPECT_EQ(parse_strategy("SHARD_GRAD_OP"), (Strategy{.reshard_after_forward = false}));
  EXPECT_EQ(parse_strategy("_HYBRID_SHARD_ZERO2"),
            (Strategy{.reshard_after_forward = false, .hybrid = true}));
}

TEST(Strategy, RefusesWhatThereIsNot) {
  for (const char* text : {"", "zero4", "ddp:wrap", "zero3:bucketed", "zero1:", "hybrid:"}) {
    EXPECT_THAT(error_of([&] { static_cast<void>(parse_strategy(text)); }),
                HasSubstr(std::string("got \"") + text + "\""));
  }
}

}  // namespace
}  // namespace sheaf::sharding
