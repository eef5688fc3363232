#include "data/listed_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ListedDocuments, AreThoseOfTheRange) {
  const ListedDocuments documents({0, 3, 4, 9});
  EXPECT_THAT(documents.starts_in(0, 10), ElementsAre(0, 3, 4, 9));
  EXPECT_THAT(documents.starts_in(3, 1), ElementsAre(3));
  EXPECT_THAT(documents.starts_in(1, 3), ElementsAre(3));
  EXPECT_THAT(documents.starts_in(5, 4), IsEmpty());
  EXPECT_THAT(documents.starts_in(10, 5), IsEmpty());
}

TEST(SplitAtBlankLines, KeepsThemWithTheTextBefore) {
  EXPECT_THAT(split_at_blank_lines("a\nb\n\nc\n\n\nd\n"),
              ElementsAre("a\nb\n\n", "c\n\n\n", "d\n"));
  EXPECT_THAT(split_at_blank_lines("a"), ElementsAre("a"));
  EXPECT_THAT(split_at_blank_lines("a\n\n"), ElementsAre("a\n\n"));
  EXPECT_THAT(split_at_blank_lines("\n\na"), ElementsAre("\n\n", "a"));
  EXPECT_THAT(split_at_blank_lines(""), IsEmpty());
}

}  // namespace
}  // namespace sheaf::data
