#include "session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/sha256.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

}  // namespace

Session::Session(FileDescriptor socket, const Secret& secret)
    : socket_(std::move(socket)), secret_(secret) {}

// What a stranger sends beyond its part stays in the kernel.
std::size_t Session::readable_bytes() const {
  if (state_ == State::unknown) return kHelloBytes - input_.size();
  if (state_ == State::greeted) return kProofBytes - input_.size();
  return kReadAtOnce;
}

void Session::read_input() {
  const std::size_t before = input_.size();
  const std::size_t limit = readable_bytes();
  input_.resize(before + limit);
  const auto got = ::recv(socket_.get(), input_.data() + before, limit, MSG_DONTWAIT);
  input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const bool is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  if (!is_open) state_ = State::ended;
}

void Session::greet() {
  const auto joiner = nonce_of(input_);
  if (!joiner.has_value()) {
    state_ = State::refused;
    return;
  }
  const Nonce own = fresh_nonce();
  greeting_.emplace(secret_, *joiner, own);
  output_ += hello_of(own);
  input_.clear();
  state_ = State::greeted;
}

void Session::check_proof() {
  if (!same_digest(input_, greeting_->proof_of(Side::joiner))) {
    output_ += std::string(kVerdictBytes, kRefused);
    flush();
    state_ = State::refused;
    return;
  }
  output_ += kWelcome + greeting_->proof_of(Side::store);
  requests_ = greeting_->seal_of(Side::joiner);
  answers_ = greeting_->seal_of(Side::store);
  input_.clear();
  state_ = State::member;
}

std::vector<std::string> Session::receive() {
  std::vector<std::string> requests;
  read_input();
  if (state_ == State::unknown && input_.size() == kHelloBytes) greet();
  if (state_ == State::greeted && input_.size() == kProofBytes) check_proof();
  if (state_ != State::member) return requests;
  try {
    while (auto request = requests_->open(input_)) requests.push_back(std::move(*request));
  } catch (const CommError&) {
    state_ = State::ended;
  }
  return requests;
}

void Session::answer(std::string_view text) { output_ += answers_->close(text); }

void Session::flush() {
  while (!output_.empty()) {
    const auto sent =
        ::send(socket_.get(), output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      if (errno != EAGAIN) state_ = State::ended;
      return;
    }
    output_.erase(0, static_cast<std::size_t>(sent));
  }
}

}  // namespace sheaf::comm::store
