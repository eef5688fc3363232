#include "train/holder_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::train {
namespace {

using memory::Holder;
using memory::Purpose;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const std::vector<HolderGroup>& groups) {
  std::vector<std::string> all;
  for (const HolderGroup& group : groups) all.push_back(group.name);
  return all;
}

TEST(HolderGroups, PutBlocksTogetherAndTheLargestFirst) {
  const auto groups = grouped_holders({{Purpose::parameters, "bucket 0", {30}},
                                       {Purpose::parameters, "bucket 1", {30}},
                                       {Purpose::activations, "transformer.h.3", {50}},
                                       {Purpose::activations, "transformer.h.4", {50}},
                                       {Purpose::activations, "(root)", {10}}});
  EXPECT_THAT(
      names(groups),
      ElementsAre("activations of blocks 3-4", "parameters", "activations of embeddings and loss"));
  EXPECT_EQ(groups[0].bytes, Bytes{100});
  EXPECT_EQ(groups[1].bytes, Bytes{60});
}

TEST(HolderGroups, NameOnlyBlocksThatHoldMuch) {
  const auto groups = grouped_holders({{Purpose::activations, "h.0", {100}},
                                       {Purpose::activations, "h.1", {100}},
                                       {Purpose::activations, "h.2", {1}}});
  EXPECT_THAT(names(groups), ElementsAre("activations of blocks 0-1"));
  EXPECT_EQ(groups[0].bytes, Bytes{201});
}

TEST(HolderGroups, AreNoneOfNobody) { EXPECT_THAT(grouped_holders({}), IsEmpty()); }

}  // namespace
}  // namespace sheaf::train
