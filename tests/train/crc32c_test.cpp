#include "train/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace sheaf::train {
namespace {

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(Crc32c, IsMaskedByTurningAndAdding) {
  // 0xe3069283 turned right by 15 bits is 0x2507c60d.
  EXPECT_EQ(masked_crc32c("123456789"), 0x2507c60dU + 0xa282ead8U);
}

}  // namespace
}  // namespace sheaf::train
