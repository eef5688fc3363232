#include "train/tensorboard_event.h"

#include <gtest/gtest.h>

#include "train/crc32c.h"

namespace sheaf::train {
namespace {

using namespace std::string_literals;

TEST(TensorboardEvent, HasAVersion) {
  EXPECT_EQ(version_event(1.0), "\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"s + "brain.Event:2");
}

TEST(TensorboardEvent, HasScalars) {
  // wall_time 0, step 300 (two bytes of seven bits), a summary of one value.
  EXPECT_EQ(scalars_event({.wall_time = 0, .step = 300}, {{"loss", 0.5}}),
            "\x09\0\0\0\0\0\0\0\0\x10\xac\x02"s + "\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f"s);
}

TEST(TensorboardEvent, IsFramedByLengthAndChecksums) {
  const std::string record = as_record("abc");
  const std::string length = "\x03\0\0\0\0\0\0\0"s;
  ASSERT_EQ(record.size(), 8 + 4 + 3 + 4U);
  EXPECT_EQ(record.substr(0, 8), length);
  EXPECT_EQ(static_cast<unsigned char>(record[8]), masked_crc32c(length) & 0xff);
  EXPECT_EQ(static_cast<unsigned char>(record[11]), masked_crc32c(length) >> 24);
  EXPECT_EQ(record.substr(12, 3), "abc");
  EXPECT_EQ(static_cast<unsigned char>(record[15]), masked_crc32c("abc") & 0xff);
}

}  // namespace
}  // namespace sheaf::train
