#include "base/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sheaf {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const char byte : text_of(digest)) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) / 16];
    text += kDigits[static_cast<unsigned char>(byte) % 16];
  }
  return text;
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Python's hashlib gives the same for: h = b''; for n in range(200): h = sha256(h + b'\xe9' * n)
TEST(Sha256, PadsEveryLength) {
  std::string chain;
  for (std::size_t n = 0; n < 200; ++n) {
    chain = std::string(text_of(sha256(chain + std::string(n, '\xe9'))));
  }
  Digest last{};
  std::copy_n(reinterpret_cast<const std::byte*>(chain.data()), last.size(), last.begin());
  EXPECT_EQ(hex(last), "ff5ce24f962e64c7f4480de6f254983ea5ffbaaae462a5418a4881091ea2e46d");
}

TEST(HmacSha256, GivesTheTagsOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SameDigest, SeesEveryDifference) {
  const std::string digest(text_of(sha256("abc")));
  EXPECT_TRUE(same_digest(digest, digest));
  EXPECT_FALSE(same_digest(digest, digest.substr(1)));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    std::string other = digest;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(same_digest(digest, other));
  }
}

}  // namespace
}  // namespace sheaf
