#include "sheaf/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "sample_options.h"
#include "sheaf/base/error.h"

namespace sheaf::sample {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FieldsOf, ListsEveryMemberOnceInOrder) {
  SampleOptions options;
  std::vector<std::string> paths;
  for (const auto& field : fields_of(options)) paths.push_back(field.path());
  EXPECT_THAT(paths,
              ElementsAre("enabled",
                          "ranks",
                          "seed",
                          "rate",
                          "name",
                          "device",
                          "limit",
                          "timeout",
                          "stage",
                          "tags",
                          "sizes",
                          "shares",
                          "retry.times",
                          "retry.pause"));
}

TEST(FieldCollector, PutsTheSectionBeforeThePath) {
  const MountedSample sample;
  EXPECT_EQ(sample.collector.fields().front().path(), "job.enabled");
  EXPECT_EQ(sample.collector.fields().back().path(), "job.retry.pause");
}

TEST(FieldCollector, RefusesTheSamePathTwice) {
  int number = 0;
  FieldCollector collector;
  collector("number", number, "first");
  EXPECT_THROW(collector("number", number, "second"), std::logic_error);
}

TEST(Field, ReadsNumbersAndTruth) {
  MountedSample sample;
  sample.set("enabled", "true");
  sample.set("ranks", "8");
  sample.set("seed", "-9223372036854775808");
  sample.set("rate", "1e-5");
  EXPECT_TRUE(sample.options.enabled);
  EXPECT_EQ(sample.options.ranks, 8);
  EXPECT_EQ(sample.options.seed, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(sample.options.rate, 1e-5);
}

TEST(Field, ReadsTextsSizesAndTimes) {
  MountedSample sample;
  sample.set("name", "a b,c=\u00e9");
  sample.set("device", "cuda");
  sample.set("limit", "1.5GiB");
  sample.set("timeout", "250ms");
  EXPECT_EQ(sample.options.name, "a b,c=\u00e9");
  EXPECT_EQ(sample.options.device, "cuda");
  EXPECT_EQ(sample.options.limit.count, 1610612736);
  EXPECT_EQ(sample.options.timeout, Seconds(0.25));
}

TEST(Field, ReadsAnEnumByItsNameOrAnAlias) {
  MountedSample sample;
  sample.set("stage", "ddp");
  EXPECT_EQ(sample.options.stage, Stage::ddp);
  sample.set("stage", "FULL_SHARD");
  EXPECT_EQ(sample.options.stage, Stage::zero3);
}

TEST(Field, ReadsListsSeparatedByCommas) {
  MountedSample sample;
  sample.set("tags", "x,y z");
  sample.set("sizes", "25,1");
  sample.set("shares", "0.7,3e-1,2");
  EXPECT_THAT(sample.options.tags, ElementsAre("x", "y z"));
  EXPECT_THAT(sample.options.sizes, ElementsAre(25, 1));
  EXPECT_THAT(sample.options.shares, ElementsAre(0.7, 0.3, 2.0));
  sample.set("tags", "");
  EXPECT_THAT(sample.options.tags, IsEmpty());
}

TEST(Field, TakesItemsThatHoldCommas) {
  MountedSample sample;
  find_field(sample.collector.fields(), "job.tags")->set_items({"x,y", ""});
  EXPECT_THAT(sample.options.tags, ElementsAre("x,y", ""));
}

TEST(Field, AcceptsTheEdgesOfItsBounds) {
  MountedSample sample;
  EXPECT_NO_THROW(sample.set("ranks", "1"));
  EXPECT_NO_THROW(sample.set("retry.times", "1"));
  EXPECT_NO_THROW(sample.set("retry.times", "9"));
  EXPECT_NO_THROW(sample.set("retry.pause", "60s"));
  EXPECT_NO_THROW(sample.set("limit", "1KiB"));
}

TEST(Field, KeepsBoundsOfLargeIntegersExact) {
  std::int64_t number = 0;
  constexpr std::int64_t kEdge = (std::int64_t{1} << 53) + 1;
  FieldCollector collector;
  collector("number", number, "help", at_most(kEdge));
  EXPECT_NO_THROW(collector.fields()[0].set("9007199254740993"));
  EXPECT_THROW(collector.fields()[0].set("9007199254740994"), UsageError);
}

TEST(Field, WritesItsValueAsATomlLiteral) {
  MountedSample sample;
  const auto literal = [&](const std::string& key) {
    return find_field(sample.collector.fields(), "job." + key)->literal();
  };
  EXPECT_EQ(literal("enabled"), "false");
  EXPECT_EQ(literal("seed"), "-7");
  EXPECT_EQ(literal("rate"), "0.0003");
  EXPECT_EQ(literal("name"), "\"run\"");
  EXPECT_EQ(literal("limit"), "\"64MiB\"");
  EXPECT_EQ(literal("timeout"), "\"5min\"");
  EXPECT_EQ(literal("retry.pause"), "\"250ms\"");
  EXPECT_EQ(literal("stage"), "\"zero1\"");
  EXPECT_EQ(literal("tags"), "[\"a\", \"b\"]");
  EXPECT_EQ(literal("sizes"), "[1, 2]");
  EXPECT_EQ(literal("shares"), "[0.5, 2.0]");
}

TEST(Field, RemembersTheDefaultAfterAChange) {
  MountedSample sample;
  sample.set("ranks", "8");
  const Field& field = *find_field(sample.collector.fields(), "job.ranks");
  EXPECT_EQ(field.default_literal(), "2");
  EXPECT_EQ(field.literal(), "8");
}

TEST(Field, SaysWhatIsAllowed) {
  MountedSample sample;
  const auto allowed = [&](const std::string& key) {
    return find_field(sample.collector.fields(), "job." + key)->allowed();
  };
  EXPECT_EQ(allowed("enabled"), "");
  EXPECT_EQ(allowed("ranks"), "at least 1");
  EXPECT_EQ(allowed("rate"), "positive");
  EXPECT_EQ(allowed("device"), "cpu or cuda");
  EXPECT_EQ(allowed("limit"), "at least 1KiB");
  EXPECT_EQ(allowed("stage"), "ddp, zero1 or zero3; also FULL_SHARD for zero3");
  EXPECT_EQ(allowed("sizes"), "at least 1");
  EXPECT_EQ(allowed("retry.times"), "between 1 and 9");
  EXPECT_EQ(allowed("retry.pause"), "at most 1min");
}

TEST(EnumNameOf, IsTheFirstOfItsNames) {
  static_assert(enum_name(Stage::zero3) == "zero3");
  EXPECT_EQ(enum_name(Stage::ddp), "ddp");
  EXPECT_EQ(enum_name(static_cast<Stage>(17)), "?");
}

TEST(FindField, IsNullForAnUnknownPath) {
  MountedSample sample;
  EXPECT_EQ(find_field(sample.collector.fields(), "job"), nullptr);
  EXPECT_EQ(find_field(sample.collector.fields(), "job.rank"), nullptr);
}

}  // namespace
}  // namespace sheaf::sample
