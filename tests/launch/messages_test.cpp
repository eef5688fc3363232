#include "launch/messages.h"

#include <gtest/gtest.h>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

TEST(Messages, ComeBackAsTheyWere) {
  const Roster roster{.generation = 3,
                      .nodes = {{.node = 0, .launcher = "a, pid 1", .slots = {0, 2}},
                                {.node = 2, .launcher = "b \"x\"\n", .slots = {1}}}};
  const Roster read = decode_roster(encode(roster));
  EXPECT_EQ(read.generation, 3);
  EXPECT_EQ(read.nodes, roster.nodes);
  const Failure failure =
      decode_failure(encode({.code = 137, .sentence = "rank 1\nfell", .node = 1, .slot = 4}));
  EXPECT_EQ(failure.code, 137);
  EXPECT_EQ(failure.sentence, "rank 1\nfell");
  EXPECT_EQ(failure.node, 1);
  EXPECT_EQ(failure.slot, 4);
  const NodeEnd end = decode_end(encode(NodeEnd{.code = 75, .stopped = true, .furthest = 17}));
  EXPECT_EQ(end.code, 75);
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(end.furthest, 17);
}

TEST(Messages, StandNamesThatAreNoUtf8) {
  EXPECT_NE(decode_state(encode(NodeState{.launcher = "\xff\xfe", .ranks = 2})).launcher, "");
}

TEST(Messages, OfStrangersAreErrors) {
  for (const char* text :
       {"", "3", "{}", "[1, 2]", "{\"generation\": \"x\", \"nodes\": 3}", "\xff"}) {
    EXPECT_THROW((void)decode_roster(text), CommError) << text;
    EXPECT_THROW((void)decode_state(text), CommError) << text;
  }
}

}  // namespace
}  // namespace sheaf::launch
