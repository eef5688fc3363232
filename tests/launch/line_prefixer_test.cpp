#include "launch/line_prefixer.h"

#include <gtest/gtest.h>

#include <string>

namespace sheaf::launch {
namespace {

const std::string kPart(LinePrefixer::kLongestPart, 'x');

TEST(LinePrefixer, PrefixesEveryLine) {
  LinePrefixer prefixer("[3] ");
  Lines lines;
  prefixer.feed("one\n\ntwo\n", lines);
  EXPECT_EQ(lines.prefixed, "[3] one\n[3] \n[3] two\n");
  EXPECT_EQ(lines.plain, "one\n\ntwo\n");
}

TEST(LinePrefixer, KeepsAnUnfinishedLineUntilItsEndComes) {
  LinePrefixer prefixer("[0] ");
  Lines lines;
  prefixer.feed("al", lines);
  EXPECT_EQ(lines.prefixed, "");
  prefixer.feed("most\nne", lines);
  EXPECT_EQ(lines.prefixed, "[0] almost\n");
}

TEST(LinePrefixer, CompletesTheLastLine) {
  LinePrefixer prefixer("[0] ");
  Lines lines;
  prefixer.feed("bye", lines);
  prefixer.finish(lines);
  prefixer.finish(lines);
  EXPECT_EQ(lines.prefixed, "[0] bye\n");
  EXPECT_EQ(lines.plain, "bye\n");
}

TEST(LinePrefixer, PassesALongLineOnInParts) {
  LinePrefixer prefixer("[0] ");
  Lines lines;
  prefixer.feed(kPart + "tail", lines);
  EXPECT_EQ(lines.prefixed, "[0] " + kPart + "\n");
  prefixer.feed("\n", lines);
  EXPECT_EQ(lines.prefixed, "[0] " + kPart + "\n[0] tail\n");
  EXPECT_EQ(lines.plain, kPart + "tail\n");
}

TEST(LinePrefixer, ShowsNoEmptyLineAfterALineOfWholeParts) {
  LinePrefixer prefixer("[0] ");
  Lines lines;
  prefixer.feed(kPart.substr(1), lines);
  prefixer.feed("x", lines);
  prefixer.feed("\nnext\n", lines);
  EXPECT_EQ(lines.prefixed, "[0] " + kPart + "\n[0] next\n");
  EXPECT_EQ(lines.plain, kPart + "\nnext\n");
}

TEST(LinePrefixer, KeepsTextAsItIsWithoutAPrefix) {
  LinePrefixer prefixer("");
  Lines lines;
  prefixer.feed("a\nb\n", lines);
  EXPECT_EQ(lines.prefixed, lines.plain);
}

}  // namespace
}  // namespace sheaf::launch
