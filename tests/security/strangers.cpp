#include "security/strangers.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "comm/store/greeting.h"

namespace sheaf::testing {
namespace {

constexpr std::size_t kMostOpen = 300;
// Long enough for a handshake on one machine; a port that drops packets costs this much each time.
constexpr int kPatienceMs = 2;

bool is_connected(const FileDescriptor& socket, const Port& port) {
  const auto* address = reinterpret_cast<const sockaddr*>(&port.address);
  if (::connect(socket.get(), address, port.size) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd entry{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&entry, 1, kPatienceMs) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

std::string Strangers::noise(std::size_t size) {
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(random_());
  return text;
}

std::string Strangers::payload() {
  const std::string greeting = comm::store::hello_of(noise(32));
  switch (random_() % 9) {
    case 0:
      return {};
    case 1:
      return noise(1 + random_() % 64);
    case 2:
      return noise(random_() % 100'000);
    case 3:
      return greeting.substr(0, random_() % greeting.size());
    case 4:  // a wrong proof, then a frame as long as frames can say
      return greeting + noise(32) + bytes_of(std::uint32_t{0xffffffff}) + noise(100);
    case 5:
      return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    case 6:  // LibTorch's store: the word that opens a connection, then a key of 4 GB
      return '\0' + bytes_of(std::uint32_t{0x3C85F7CE}) + '\1' + bytes_of(std::uint64_t{1} << 32) +
             noise(100);
    case 7:  // gloo: the number of a pair, then operations of any kind and length
      return bytes_of(std::uint64_t{random_() % 16}) + noise(200);
    default:
      return bytes_of(~std::uint64_t{0}) + noise(8);
  }
}

void Strangers::visit(const Port& port) {
  ++tried_;
  FileDescriptor socket(
      ::socket(port.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!is_connected(socket, port)) return;
  ++connected_;
  const std::string text = payload();
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (random_() % 2 == 0) return;  // closes at once, answered or not
  open_.push_back(std::move(socket));
  if (open_.size() > kMostOpen) open_.pop_front();
}

}  // namespace sheaf::testing
