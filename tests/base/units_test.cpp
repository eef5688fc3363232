#include "sheaf/base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf {
namespace {

struct SizeCase {
  std::string text;
  std::int64_t count;
};

const std::vector<SizeCase> kSizes = {
    {"0", 0},
    {"512", 512},
    {"512B", 512},
    {"4KiB", 4096},
    {"64MiB", 67108864},
    {"64 MiB", 67108864},
    {"64.0 MiB", 67108864},
    {"64mib", 67108864},
    {"1.5GiB", 1610612736},
    {"2TiB", 2199023255552},
    {"3kB", 3000},
    {"3MB", 3000000},
    {"80GB", 80000000000},
    {"1TB", 1000000000000},
    {"9223372036854775807", std::numeric_limits<std::int64_t>::max()}};

const std::vector<std::string> kNotSizes = {"",
                                            " ",
                                            "MiB",
                                            "abc",
                                            "-1",
                                            "-5MiB",
                                            "+5",
                                            "1.5",
                                            "0.5B",
                                            "64M",
                                            "64  MiB",
                                            "64MiB ",
                                            "64MiBs",
                                            "0x10",
                                            "inf",
                                            "nanB",
                                            "9223372036854775808",
                                            "8388608TiB",
                                            "1e300GiB"};

struct TimeCase {
  std::string text;
  double seconds;
};

const std::vector<TimeCase> kTimes = {{"30", 30},
                                      {"30s", 30},
                                      {"1.5 s", 1.5},
                                      {"250ms", 0.25},
                                      {"10us", 1e-5},
                                      {"5min", 300},
                                      {"2h", 7200},
                                      {"0", 0}};

const std::vector<std::string> kNotTimes = {
    "", "abc", "s", "5m", "5 minutes", "-1s", "inf", "nan", "1s2", "1e308h"};

template <class Parse>
std::string error_of(const Parse& parse, const std::string& text) {
  try {
    static_cast<void>(parse(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted " + text;
}

TEST(ParseBytes, ReadsEveryUnit) {
  for (const auto& [text, count] : kSizes) EXPECT_EQ(parse_bytes(text).count, count) << text;
}

TEST(ParseBytes, RefusesOtherTextsByName) {
  for (const auto& text : kNotSizes) {
    EXPECT_EQ(error_of(parse_bytes, text),
              "expected a size such as 64MiB or 1.5GiB, got '" + text + "'");
  }
}

TEST(ParseSeconds, ReadsEveryUnit) {
  for (const auto& [text, seconds] : kTimes) {
    EXPECT_DOUBLE_EQ(parse_seconds(text).count(), seconds) << text;
  }
}

TEST(ParseSeconds, RefusesOtherTextsByName) {
  for (const auto& text : kNotTimes) {
    EXPECT_EQ(error_of(parse_seconds, text),
              "expected a time such as 30s or 5min, got '" + text + "'");
  }
}

TEST(Bytes, AreWrittenWithOneDigitAndTheLargestUnit) {
  EXPECT_EQ(to_string(Bytes{512}), "512 B");
  EXPECT_EQ(to_string(mebibytes(64)), "64.0 MiB");
  EXPECT_EQ(to_string(Bytes{1610612736}), "1.5 GiB");
  EXPECT_EQ(to_string(gibibytes(5000)), "4.9 TiB");
  EXPECT_EQ(to_string(Bytes{-2048}), "-2.0 KiB");
}

TEST(Bytes, MoveToTheNextUnitWhenRoundingReachesIt) {
  EXPECT_EQ(to_string(Bytes{1023}), "1023 B");
  EXPECT_EQ(to_string(Bytes{mebibytes(1).count - 1}), "1.0 MiB");
  EXPECT_EQ(to_string(mebibytes(1000)), "1000.0 MiB");
}

TEST(Seconds, AreWrittenWithOneDigitAndTheLargestUnit) {
  EXPECT_EQ(to_string(Seconds(0)), "0.0 s");
  EXPECT_EQ(to_string(Seconds(12.34e-6)), "12.3 us");
  EXPECT_EQ(to_string(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(to_string(Seconds(57.5)), "57.5 s");
  EXPECT_EQ(to_string(Seconds(300)), "5.0 min");
  EXPECT_EQ(to_string(Seconds(7200)), "2.0 h");
}

TEST(Seconds, MoveToTheNextUnitWhenRoundingReachesIt) {
  EXPECT_EQ(to_string(Seconds(0.99996e-3)), "1.0 ms");
  EXPECT_EQ(to_string(Seconds(59.99)), "1.0 min");
}

}  // namespace
}  // namespace sheaf
