#include "client.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "base/sha256.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;

constexpr auto kConnectAttempt = 1s;
constexpr auto kConnectAgain = 50ms;
constexpr auto kGreetingLimit = 5s;
constexpr auto kGoodbyeLimit = 1s;

std::string_view view_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// In c10d's words no time at all is time without end.
std::chrono::milliseconds patience_of(std::chrono::milliseconds timeout) {
  return timeout == c10d::Store::kNoTimeout ? std::chrono::milliseconds(24h * 365) : timeout;
}

// Waits until the socket is ready; false at the limit.
bool is_ready(const FileDescriptor& socket,
              short events,
              std::chrono::steady_clock::time_point limit) {
  constexpr std::int64_t kLongestPoll = 1'000'000'000;
  while (true) {
    pollfd entry{.fd = socket.get(), .events = events, .revents = 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    const int ready = ::poll(
        &entry, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongestPoll)));
    // A signal is no end of the time.
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
}

// Returns the client behind any prefixes, null where the store is of another kind.
c10::intrusive_ptr<Client> client_behind(const c10::intrusive_ptr<c10d::Store>& store) {
  auto* prefixed = dynamic_cast<c10d::PrefixStore*>(store.get());
  const auto behind = prefixed == nullptr ? store : prefixed->getUnderlyingNonPrefixStore();
  return c10::dynamic_intrusive_pointer_cast<Client>(behind);
}

}  // namespace

Client::Client(ClientOptions options) : c10d::Store(options.timeout), options_(std::move(options)) {
  const auto limit = Clock::now() + options_.timeout;
  while (!greet(limit)) {
    if (Clock::now() >= limit) {
      throw CommError(fmt::format("nobody answers at {}", to_string(options_.address)));
    }
    std::this_thread::sleep_for(kConnectAgain);
  }
  if (!options_.name.empty()) {
    static_cast<void>(ask(FieldsWriter(Operation::introduce).add(options_.name)));
  }
}

Client::~Client() {
  if (options_.name.empty() || !socket_.is_open()) return;
  try {
    send_all(questions_->close(FieldsWriter(Operation::leave).text()),
             Clock::now() + kGoodbyeLimit);
    receive_more(Clock::now() + kGoodbyeLimit);
  } catch (const std::exception&) {
    // The store is gone, and with it who would have listened.
  }
}

// Returns false where it is worth trying again.
bool Client::greet(Clock::time_point limit) {
  input_.clear();
  socket_ = connect_to(options_.address, kConnectAttempt);
  if (!socket_.is_open()) return false;
  break_after_silence(socket_, options_.silence);
  limit = std::min(limit, Clock::now() + kGreetingLimit);
  const Nonce own = fresh_nonce();
  std::string hello;
  std::string verdict;
  std::optional<Greeting> greeting;
  try {
    send_all(hello_of(own), limit);
    hello = receive(kHelloBytes, limit);
    if (const auto theirs = nonce_of(hello)) {
      greeting.emplace(options_.secret, own, *theirs);
      send_all(greeting->proof_of(Side::joiner), limit);
      verdict = receive(kVerdictBytes, limit);
    }
  } catch (const CommError&) {
    return false;
  }
  const std::string where = to_string(options_.address);
  if (!greeting.has_value()) {
    throw UsageError("what answers there is no store of sheaf: " + where);
  }
  if (verdict.front() == kRefused) {
    throw UsageError(fmt::format(
        "the store refused to let this join, since it does not know the secret of the run; start "
        "it by the launcher, or give all the same --secret-file (SHEAF_SECRET_FILE): {}",
        where));
  }
  if (!same_digest(std::string_view(verdict).substr(1), greeting->proof_of(Side::store))) {
    throw UsageError("what answers there does not know the secret of the run: " + where);
  }
  questions_ = greeting->seal_of(Side::joiner);
  answers_ = greeting->seal_of(Side::store);
  return true;
}

void Client::send_all(const std::string& text, Clock::time_point limit) {
  std::string_view left = text;
  while (!left.empty()) {
    const auto sent = ::send(socket_.get(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent == 0 || (errno != EINTR && errno != EAGAIN) ||
               !is_ready(socket_, POLLOUT, limit)) {
      socket_.close();
      throw CommError(
          fmt::format("the store does not answer any more: {}", to_string(options_.address)));
    }
  }
}

void Client::receive_more(Clock::time_point limit) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const bool came = is_ready(socket_, POLLIN, limit);
    const auto got = came ? ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) : 0;
    if (got > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(got));
      return;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    socket_.close();
    throw CommError(
        fmt::format("the store does not answer any more: {}", to_string(options_.address)));
  }
}

std::string Client::receive(std::size_t size, Clock::time_point limit) {
  while (input_.size() < size) receive_more(limit);
  std::string text = input_.substr(0, size);
  input_.erase(0, size);
  return text;
}

// `patience`: how long the store itself may wait before it answers.
std::string Client::ask(const FieldsWriter& question, std::chrono::milliseconds patience) {
  const std::lock_guard lock(mutex_);
  if (!socket_.is_open()) {
    throw CommError(
        fmt::format("the store does not answer any more: {}", to_string(options_.address)));
  }
  const auto limit = Clock::now() + patience + 2 * options_.silence;
  send_all(questions_->close(question.text()), limit);
  std::optional<std::string> answer;
  while (!(answer = answers_->open(input_)).has_value()) receive_more(limit);
  const auto kind = static_cast<Answer>(FieldsReader(*answer).kind());
  if (kind == Answer::late) {
    C10_THROW_ERROR(DistStoreError,
                    fmt::format("the store waited in vain for {} ms", patience.count()));
  }
  if (kind == Answer::nonsense) throw CommError("the store cannot do what was asked of it");
  return std::move(*answer);
}

// Without the name: whoever is missed is missed once, by the connection that introduced it.
c10::intrusive_ptr<c10d::Store> Client::clone() {
  ClientOptions options = options_;
  options.name.clear();
  return c10::make_intrusive<Client>(std::move(options));
}

void Client::set(const std::string& key, const Bytes& value) {
  static_cast<void>(ask(FieldsWriter(Operation::set).add(key).add(view_of(value))));
}

Bytes Client::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  const auto answer = ask(
      FieldsWriter(Operation::compare_set).add(key).add(view_of(expected)).add(view_of(desired)));
  return bytes_of(FieldsReader(answer).next());
}

Bytes Client::get(const std::string& key) {
  const auto timeout = patience_of(getTimeout());
  const auto answer = ask(FieldsWriter(Operation::get).add(timeout.count()).add(key), timeout);
  return bytes_of(FieldsReader(answer).next());
}

std::int64_t Client::add(const std::string& key, std::int64_t value) {
  const auto answer = ask(FieldsWriter(Operation::add).add(key).add(value));
  return FieldsReader(answer).next_number();
}

bool Client::deleteKey(const std::string& key) {
  const auto answer = ask(FieldsWriter(Operation::erase).add(key));
  return static_cast<Answer>(FieldsReader(answer).kind()) == Answer::done;
}

bool Client::check(const std::vector<std::string>& keys) {
  FieldsWriter question(Operation::check);
  for (const auto& key : keys) question.add(key);
  const auto answer = ask(question);
  return static_cast<Answer>(FieldsReader(answer).kind()) == Answer::done;
}

std::int64_t Client::getNumKeys() {
  const auto answer = ask(FieldsWriter(Operation::count));
  return FieldsReader(answer).next_number();
}

void Client::wait(const std::vector<std::string>& keys) { wait(keys, getTimeout()); }

void Client::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  const auto patience = patience_of(timeout);
  FieldsWriter question(Operation::wait);
  question.add(patience.count());
  for (const auto& key : keys) question.add(key);
  static_cast<void>(ask(question, patience));
}

std::vector<std::string> Client::lost() {
  const auto answer = ask(FieldsWriter(Operation::lost));
  return FieldsReader(answer).rest();
}

std::string Client::own_host() const { return own_host_of(socket_); }

std::vector<std::string> lost_joiners(const c10::intrusive_ptr<c10d::Store>& store) {
  const auto client = client_behind(store);
  return client ? client->lost() : std::vector<std::string>();
}

std::string own_host(const c10::intrusive_ptr<c10d::Store>& store) {
  const auto client = client_behind(store);
  return client ? client->own_host() : "";
}

}  // namespace sheaf::comm::store
