#include "sheaf/base/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sheaf {
namespace {

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({"name", "bytes", "share"});
  table.add({"all_reduce", "64.0 MiB", "9.5%"});
  table.add({"gather", "512 B", "100%"});
  EXPECT_EQ(table.str(),
            "name           bytes  share\n"
            "all_reduce  64.0 MiB   9.5%\n"
            "gather         512 B   100%\n");
}

TEST(Table, TreatsOneWordInAColumnAsText) {
  Table table({"ranks", "x"});
  table.add({"2", "1"});
  table.add({"many", "1"});
  EXPECT_EQ(table.str(), "ranks  x\n2      1\nmany   1\n");
}

TEST(Table, LetsADashStandForAMissingNumber) {
  Table table({"loss"});
  table.add({"-"});
  table.add({"-0.125"});
  table.add({"3e-05"});
  EXPECT_EQ(table.str(), "  loss\n     -\n-0.125\n 3e-05\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"name", "n"});
  table.add({"\u00e9t\u00e9", "1"});
  table.add({"four", "2"});
  EXPECT_EQ(table.str(), "name  n\n\u00e9t\u00e9   1\nfour  2\n");
}

TEST(Table, HasNoSpacesAtTheEndOfALine) {
  Table table;
  table.add({"a", "long text"});
  table.add({"b", ""});
  EXPECT_EQ(table.str(), "a  long text\nb\n");
}

TEST(Table, PrintsTheHeaderAloneWithoutRows) {
  EXPECT_EQ(Table({"a", "b"}).str(), "a  b\n");
  EXPECT_EQ(Table().str(), "");
}

TEST(Table, RefusesARowOfAnotherWidth) {
  Table table({"a", "b"});
  EXPECT_THROW(table.add({"1"}), std::logic_error);
  EXPECT_THROW(table.add({"1", "2", "3"}), std::logic_error);
}

}  // namespace
}  // namespace sheaf
