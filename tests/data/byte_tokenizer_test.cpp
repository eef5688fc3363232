#include "sheaf/data/byte_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;

TEST(ByteTokenizer, GivesOneTokenPerByte) {
  EXPECT_THAT(ByteTokenizer().encode("A\n\xc3\xa9"), ElementsAre(65, 10, 0xc3, 0xa9));
  EXPECT_TRUE(ByteTokenizer().encode("").empty());
}

TEST(ByteTokenizer, PutsEveryByteBackAsItWas) {
  std::string all;
  for (int i = 255; i >= 0; --i) all.push_back(static_cast<char>(i));
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all)), all);
  EXPECT_EQ(tokenizer.vocabulary(), 256);
}

TEST(ByteTokenizer, RefusesTokensThatAreNoBytes) {
  for (const std::int64_t token : {-1L, 256L}) {
    EXPECT_EQ(error_of([&] { (void)ByteTokenizer().decode(std::array{token}); }),
              "a byte is a token from 0 to 255, got " + std::to_string(token));
  }
}

TEST(ByteTokenizer, HasAHashThatTokenFilesCanRelyOn) {
  EXPECT_EQ(ByteTokenizer().hash(), 15'205'073'728'328'971'632U);
}

}  // namespace
}  // namespace sheaf::data
