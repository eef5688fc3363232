#include "study/watch/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "sheaf/base/error.h"

namespace sheaf::study {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest()
      : thread_([this] {
          server_.run([](const Request& request) { return Response{.body = request.path}; },
                      [this] { return stop_.load(); });
        }) {}
  ~ServerTest() override {
    stop_ = true;
    thread_.join();
  }

  [[nodiscard]] int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return socket;
  }

  [[nodiscard]] std::string ask(const std::string& text) const {
    const int socket = connect();
    EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    std::string answer;
    std::array<char, 4096> buffer;
    for (ssize_t size; (size = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;) {
      answer.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(socket);
    return answer;
  }

  Server server_{ServerOptions{}};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(ServerTest, AnswersARequest) {
  const std::string answer = ask("GET /here HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n/here"));
}

TEST_F(ServerTest, RefusesOtherHostsAndMethods) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(ServerTest, IsNotHeldUpByWhoSaysNothing) {
  const int silent = connect();
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  ::close(silent);
}

TEST_F(ServerTest, EndsHeadsThatNeverEnd) {
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nX: " + std::string(8200, 'x')), "");
}

TEST(Server, NamesThePortThatItCannotHave) {
  const Server first({});
  try {
    const Server second({.port = first.port()});
    FAIL() << "two servers on one port";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(first.port())));
  }
}

TEST(Server, RefusesAnAddressThatIsNone) {
  EXPECT_THROW(Server({.address = "everywhere"}), UsageError);
}

}  // namespace
}  // namespace sheaf::study
