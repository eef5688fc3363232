#include "data/pack/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "data/scratch.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using testing::gzipped;
using ::testing::HasSubstr;
using testing::Scratch;

std::string with_zstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::string some_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  text.resize(size);
  return text;
}

std::string read_all(const std::string& path, std::size_t at_once = 1000) {
  const auto stream = open_text_stream(path);
  std::string text;
  std::string part(at_once, '\0');
  while (const std::size_t size = stream->read(part)) text.append(part, 0, size);
  return text;
}

TEST(TextStream, ReadsPlainAndPackedFiles) {
  const Scratch scratch;
  for (const std::size_t size : {0, 1, 999, 1000, 1001, 300'000}) {
    const std::string text = some_text(size);
    EXPECT_EQ(read_all(scratch.write("a.txt", text)), text);
    EXPECT_EQ(read_all(scratch.write("a.gz", gzipped(text))), text);
    EXPECT_EQ(read_all(scratch.write("a.zst", with_zstd(text))), text);
    EXPECT_EQ(read_all(scratch.path("a.zst"), 1 << 20), text);
  }
}

TEST(TextStream, ReadsSeveralPackedFilesInOne) {
  const Scratch scratch;
  EXPECT_EQ(read_all(scratch.write("a.gz", gzipped("one") + gzipped("two"))), "onetwo");
  EXPECT_EQ(read_all(scratch.write("a.zst", with_zstd("one") + with_zstd("") + with_zstd("two"))),
            "onetwo");
}

TEST(TextStream, KnowsZstdFilesThatBeginWithASkippedFrame) {
  const Scratch scratch;
  const std::string skipped("\x5a\x2a\x4d\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(read_all(scratch.write("a.zst", skipped + with_zstd("text"))), "text");
}

TEST(TextStream, RefusesWhatIsPackedInAnotherWay) {
  const Scratch scratch;
  for (const std::string name : {"a.xz", "a.zip", "a.gz", "a.parquet"}) {
    EXPECT_THAT(error_of([&] { (void)read_all(scratch.write(name, "no text")); }),
                HasSubstr("by its name"));
  }
}

TEST(TextStream, SaysHowFarItHasCome) {
  const Scratch scratch;
  const std::string packed = with_zstd(some_text(100'000));
  const auto stream = open_text_stream(scratch.write("a.zst", packed));
  std::string part(200'000, '\0');
  EXPECT_EQ(stream->read(part), 100'000U);
  EXPECT_EQ(stream->bytes_read(), packed.size());
}

TEST(TextStream, RefusesTruncatedAndDamagedFiles) {
  const Scratch scratch;
  const std::string packed = with_zstd(some_text(5000));
  for (std::size_t size = 5; size < packed.size(); size += 97) {
    const auto path = scratch.write("a.zst", packed.substr(0, size));
    EXPECT_THAT(error_of([&] { (void)read_all(path); }), HasSubstr("zstd file ends too early"));
  }
  const auto path = scratch.write("b.zst", packed + "more bytes");
  EXPECT_THAT(error_of([&] { (void)read_all(path); }), HasSubstr("zstd file is damaged"));
  EXPECT_THAT(error_of([&] { (void)read_all(scratch.path("none")); }), HasSubstr("no file"));
}

}  // namespace
}  // namespace sheaf::data
