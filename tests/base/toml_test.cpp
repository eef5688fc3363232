#include "sheaf/base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sample_options.h"

namespace sheaf::sample {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadToml, SetsWhatTheDocumentNames) {
  MountedSample sample;
  read_toml("[job]\nranks = 8\nstage = 'FULL_SHARD'\n[job.retry]\ntimes = 5\n",
            "run.toml",
            sample.collector.fields());
  EXPECT_EQ(sample.options.ranks, 8);
  EXPECT_EQ(sample.options.stage, Stage::zero3);
  EXPECT_EQ(sample.options.retry.times, 5);
}

TEST(ReadToml, LeavesTheOthersAsTheyWere) {
  MountedSample sample;
  sample.set("seed", "11");
  read_toml("job.ranks = 8", "run.toml", sample.collector.fields());
  EXPECT_EQ(sample.options.seed, 11);
  EXPECT_EQ(sample.options.name, "run");
}

TEST(ReadToml, TakesSizesAndTimesAsTextsOrNumbers) {
  MountedSample sample;
  auto& fields = sample.collector.fields();
  read_toml("job.limit = '2GiB'\njob.timeout = '30s'", "run.toml", fields);
  EXPECT_EQ(sample.options.limit, gibibytes(2));
  EXPECT_EQ(sample.options.timeout, Seconds(30));
  read_toml("job.limit = 4096\njob.timeout = 1.5", "run.toml", fields);
  EXPECT_EQ(sample.options.limit, Bytes{4096});
  EXPECT_EQ(sample.options.timeout, Seconds(1.5));
}

TEST(ReadToml, TakesAnIntegerForANumber) {
  MountedSample sample;
  read_toml("job.rate = 2", "run.toml", sample.collector.fields());
  EXPECT_EQ(sample.options.rate, 2.0);
}

TEST(ReadToml, TakesListsWithCommasInTheirItems) {
  MountedSample sample;
  read_toml("[job]\ntags = ['x,y', '']\nsizes = [3, 1,\n2]", "run.toml", sample.collector.fields());
  EXPECT_THAT(sample.options.tags, ElementsAre("x,y", ""));
  EXPECT_THAT(sample.options.sizes, ElementsAre(3, 1, 2));
}

TEST(ReadToml, TakesListsOfNumbersWithAndWithoutAPoint) {
  MountedSample sample;
  read_toml("job.shares = [1, 0.25, 3e-1]", "run.toml", sample.collector.fields());
  EXPECT_THAT(sample.options.shares, ElementsAre(1.0, 0.25, 0.3));
}

TEST(ReadToml, TakesEmptyListsAndAnEmptyDocument) {
  MountedSample sample;
  read_toml(
      "job.tags = []\njob.sizes = []\njob.shares = []", "run.toml", sample.collector.fields());
  EXPECT_TRUE(sample.options.tags.empty());
  EXPECT_TRUE(sample.options.sizes.empty());
  EXPECT_TRUE(sample.options.shares.empty());
  EXPECT_NO_THROW(read_toml("", "run.toml", sample.collector.fields()));
}

TEST(ReadTomlFile, ReadsAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sheaf_toml_test_ok.toml";
  std::ofstream(path) << "[job]\r\nname = \"from a file\"\r\n";
  MountedSample sample;
  read_toml_file(path, sample.collector.fields());
  std::filesystem::remove(path);
  EXPECT_EQ(sample.options.name, "from a file");
}

TEST(WriteToml, HasSectionsAndHelpAsComments) {
  RetryOptions retry;
  int top = 1;
  FieldCollector collector;
  collector.section("job", retry);
  collector("top", top, "a key without a section");
  EXPECT_EQ(write_toml(collector.fields()),
            "# a key without a section\n"
            "top = 1\n"
            "\n"
            "[job]\n"
            "# attempts; between 1 and 9\n"
            "times = 3\n"
            "# time between attempts; at most 1min\n"
            "pause = \"250ms\"\n");
}

std::string round_trip(SampleOptions options) {
  MountedSample written;
  written.options = std::move(options);
  const std::string document = write_toml(written.collector.fields());
  MountedSample read;
  read_toml(document, "round trip", read.collector.fields());
  EXPECT_EQ(write_toml(read.collector.fields()), document);
  EXPECT_EQ(read.options.name, written.options.name);
  EXPECT_EQ(read.options.tags, written.options.tags);
  EXPECT_EQ(read.options.rate, written.options.rate);
  EXPECT_EQ(read.options.seed, written.options.seed);
  EXPECT_EQ(read.options.limit, written.options.limit);
  EXPECT_EQ(read.options.timeout, written.options.timeout);
  EXPECT_EQ(read.options.stage, written.options.stage);
  return document;
}

TEST(WriteToml, ReadsBackDefaults) { EXPECT_THAT(round_trip({}), HasSubstr("[job.retry]")); }

TEST(WriteToml, ReadsBackOddTexts) {
  for (const std::string text : {"",
                                 "\"",
                                 "'quotes' and \"double\"",
                                 "back\\slash \\n \\u0041",
                                 "line\nbreak\r\ttab",
                                 "\x01\x1b[31m\x7f",
                                 "gr\u00fc\u00df, \u65e5\u672c, \U0001F33E",
                                 "# no comment",
                                 "'''",
                                 "a = 1\n[section]"}) {
    round_trip({.name = text, .tags = {text, "x", text}});
  }
}

TEST(WriteToml, ReadsBackExtremeNumbers) {
  using Limits = std::numeric_limits<double>;
  for (const double rate :
       {1.0, 0.1, 1e22, 1e-300, 123456789.123456789, Limits::max(), Limits::min()}) {
    round_trip({.seed = std::numeric_limits<std::int64_t>::min(), .rate = rate});
    round_trip({.seed = std::numeric_limits<std::int64_t>::max(), .rate = rate});
  }
}

TEST(WriteToml, ReadsBackSizesAndTimesExactly) {
  for (const std::int64_t count :
       {1024L, 1025L, 65536L, (1L << 40) + 1, 5L << 40, (1L << 62) + 1}) {
    round_trip({.limit = Bytes{count}});
  }
  for (const double seconds : {0.0, 0.1, 1e-7, 3e-6, 0.0123, 1.0 / 3, 61.0, 86400.0, 1e15, 1e300}) {
    round_trip({.timeout = Seconds(seconds)});
  }
}

}  // namespace
}  // namespace sheaf::sample
