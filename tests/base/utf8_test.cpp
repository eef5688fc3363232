#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sheaf {
namespace {

TEST(UnfinishedBytes, CountsWhatLacksItsEnd) {
  const std::string text = "a\u00e9\u20ac\U0001F600";
  // The bytes of a text one by one: 1 of one byte, then characters of 2, 3 and 4.
  const std::string expected = "0101201230";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    EXPECT_EQ(unfinished_bytes(text.substr(0, size)),
              static_cast<std::size_t>(expected[size - 1] - '0'))
        << size;
  }
}

TEST(UnfinishedBytes, DoesNotWaitForWhatCannotBecomeACharacter) {
  EXPECT_EQ(unfinished_bytes(""), 0U);
  EXPECT_EQ(unfinished_bytes("\x80"), 0U);
  EXPECT_EQ(unfinished_bytes("\x80\x80\x80\x80"), 0U);
  EXPECT_EQ(unfinished_bytes("a\xff"), 0U);
  EXPECT_EQ(unfinished_bytes("\xc3\xa9\x80"), 0U);
}

}  // namespace
}  // namespace sheaf
