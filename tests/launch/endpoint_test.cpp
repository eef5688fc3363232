#include "launch/endpoint.h"

#include <gtest/gtest.h>

#include "launch/store_host.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

TEST(Endpoint, ReadsHostAndPort) {
  const auto endpoint = parse_endpoint("node-0.cluster:29500");
  EXPECT_EQ(endpoint.host, "node-0.cluster");
  EXPECT_EQ(endpoint.port, 29500);
  EXPECT_EQ(to_string(endpoint), "node-0.cluster:29500");
}

TEST(Endpoint, ReadsAnAddressInBrackets) {
  const auto endpoint = parse_endpoint("[::1]:80");
  EXPECT_EQ(endpoint.host, "::1");
  EXPECT_EQ(to_string(endpoint), "[::1]:80");
}

TEST(Endpoint, RefusesWhatIsNotHostAndPort) {
  for (const char* text : {"",
                           "host",
                           "host:",
                           ":1",
                           "host:0",
                           "host:65536",
                           "host:-1",
                           "host:1x",
                           "::1:80",
                           "a b:1",
                           "[]:1"}) {
    EXPECT_THROW((void)parse_endpoint(text), UsageError) << text;
  }
}

TEST(Endpoint, TellsWhetherAnybodyListens) {
  Endpoint endpoint;
  {
    const auto store = StoreHost::serve(endpoint, StoreHost::Reach::this_machine);
    endpoint.port = store.port();
    EXPECT_TRUE(is_listening(endpoint, std::chrono::seconds(10)));
  }
  EXPECT_FALSE(is_listening(endpoint, std::chrono::seconds(10)));
}

}  // namespace
}  // namespace sheaf::launch
