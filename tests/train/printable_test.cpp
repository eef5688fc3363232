#include "train/printable.h"

#include <gtest/gtest.h>

namespace sheaf::train {
namespace {

TEST(PrintableLines, IndentsEachLine) {
  EXPECT_EQ(printable_lines("one\ntwo", "  "), "  one\n  two\n");
  EXPECT_EQ(printable_lines("one\n\ntwo\n", "  "), "  one\n  \n  two\n");
  EXPECT_EQ(printable_lines("", "  "), "  \n");
}

TEST(PrintableLines, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable_lines("a\x1b[2J\rb\x7f", ""), "a\\u001B[2J\\u000Db\\u007F\n");
  EXPECT_EQ(printable_lines("\u009b2J", ""), "\\u009B2J\n");
  EXPECT_EQ(printable_lines(std::string_view("a\0b", 3), ""), "a\\u0000b\n");
}

TEST(PrintableLines, KeepsUtf8AndEscapesOtherBytes) {
  EXPECT_EQ(printable_lines("\u00e9\u4e2d\U0001f33e", ""), "\u00e9\u4e2d\U0001f33e\n");
  EXPECT_EQ(printable_lines("a\xff\xc3", ""), "a\\xFF\\xC3\n");
  EXPECT_EQ(printable_lines("\u00e9\x80z", ""), "\u00e9\\x80z\n");
}

TEST(CutTo, CountsCharacters) {
  EXPECT_EQ(cut_to("\u2501\u2501ab", 3), "\u2501\u2501a");
  EXPECT_EQ(cut_to("\u2501\u2501", 1), "\u2501");
  EXPECT_EQ(cut_to("ab", 9), "ab");
  EXPECT_EQ(cut_to("ab", 0), "");
  EXPECT_EQ(width_of("\u2501\u2501ab"), 4U);
}

}  // namespace
}  // namespace sheaf::train
