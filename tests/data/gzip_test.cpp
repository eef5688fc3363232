#include "data/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using testing::gzipped;

std::string unpacked(const std::string& bytes, std::size_t limit = 1 << 20) {
  const auto result = unpack_gzip(std::as_bytes(std::span(bytes)), limit, "a.gz");
  return {reinterpret_cast<const char*>(result.data()), result.size()};
}

std::string some_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  text.resize(size);
  return text;
}

TEST(Gzip, UnpacksAnySize) {
  for (const std::size_t size : {0, 1, 65'535, 65'536, 65'537, 131'072, 300'000}) {
    EXPECT_EQ(unpacked(gzipped(some_text(size))), some_text(size)) << size;
  }
}

TEST(Gzip, UnpacksSeveralFilesInOne) {
  EXPECT_EQ(unpacked(gzipped("one") + gzipped("") + gzipped("two")), "onetwo");
}

TEST(Gzip, StopsAtTheLimit) {
  EXPECT_EQ(unpacked(gzipped(some_text(1000)), 1000).size(), 1000U);
  EXPECT_EQ(error_of([] { (void)unpacked(gzipped(some_text(1001)), 1000); }),
            "a gzip file unpacks to more than 1000 bytes: a.gz");
}

TEST(Gzip, RefusesEveryTruncation) {
  const std::string packed = gzipped(some_text(300));
  for (std::size_t size = 2; size < packed.size(); ++size) {
    EXPECT_EQ(error_of([&] { (void)unpacked(packed.substr(0, size)); }),
              "a gzip file ends too early: a.gz")
        << size;
  }
}

TEST(Gzip, RefusesDamageAndWhatComesAfterTheEnd) {
  std::string packed = gzipped(some_text(300));
  EXPECT_EQ(error_of([&] { (void)unpacked(packed + "more"); }), "a gzip file is damaged: a.gz");
  packed[packed.size() / 2] ^= 1;
  EXPECT_THAT(error_of([&] { (void)unpacked(packed); }), ::testing::HasSubstr("a gzip file"));
}

}  // namespace
}  // namespace sheaf::data
