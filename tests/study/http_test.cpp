#include "study/watch/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::study {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ParseRequest, TakesPathQueryAndHost) {
  const auto request =
      parse_request("GET /metrics?since=7 HTTP/1.1\r\nAccept: */*\r\nhOsT:  localhost:80 \r\n");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->query, "since=7");
  EXPECT_EQ(request->host, "localhost:80");
}

TEST(ParseRequest, RefusesWhatIsNoRequest) {
  for (const char* head : {"",
                           "\r\n",
                           "GET\r\n",
                           "GET x HTTP/1.1\r\n",
                           "GET / SPDY\r\n",
                           "GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n"}) {
    EXPECT_FALSE(parse_request(head).has_value()) << head;
  }
}

TEST(IsOwnHost, KnowsTheNamesOfLoopback) {
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:5", "[::1]:5"}) {
    EXPECT_TRUE(is_own_host(host, "127.0.0.1")) << host;
  }
}

TEST(IsOwnHost, RefusesAllOthers) {
  for (const char* host : {"",
                           "evil.example",
                           "localhost.evil.example:80",
                           "127.0.0.1.evil.example",
                           "10.0.0.1",
                           "[::2]",
                           ":80"}) {
    EXPECT_FALSE(is_own_host(host, "127.0.0.1")) << host;
  }
}

TEST(IsOwnHost, TakesTheAddressThatItIsBoundTo) {
  EXPECT_TRUE(is_own_host("10.0.0.1:80", "10.0.0.1"));
}

TEST(WireText, SaysHowLongTheBodyIs) {
  const std::string text = wire_text({.status = 404, .body = "none"});
  EXPECT_THAT(text, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\r\n\r\nnone"));
}

}  // namespace
}  // namespace sheaf::study
