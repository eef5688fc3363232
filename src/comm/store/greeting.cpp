#include "greeting.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstring>

#include "base/sha256.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

constexpr std::string_view kMagic = "sheaf-1\n";
constexpr std::size_t kNonceBytes = kHelloBytes - kMagic.size();
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

std::string_view name_of(Side side) { return side == Side::joiner ? "joiner" : "store"; }

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

}  // namespace

Nonce fresh_nonce() {
  Nonce nonce(kNonceBytes, '\0');
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    throw IoError("no random bytes for a connection");
  }
  return nonce;
}

std::string hello_of(const Nonce& nonce) { return std::string(kMagic) + nonce; }

std::optional<Nonce> nonce_of(std::string_view hello) {
  if (hello.size() != kHelloBytes || !hello.starts_with(kMagic)) return std::nullopt;
  return Nonce(hello.substr(kMagic.size()));
}

std::string Seal::tag_of(std::string_view text) const {
  return std::string(
      text_of(hmac_sha256(key_, bytes_of(number_) + bytes_of(text.size()) + std::string(text))));
}

std::string Seal::close(std::string_view text) {
  if (text.size() > kLongestText) {
    throw CommError(
        fmt::format("a store takes values of up to {} bytes, not {}", kLongestText, text.size()));
  }
  std::string frame = bytes_of(static_cast<std::uint32_t>(text.size()));
  frame += text;
  frame += tag_of(text);
  ++number_;
  return frame;
}

std::optional<std::string> Seal::open(std::string& buffer) {
  std::uint32_t length = 0;
  if (buffer.size() < kLengthBytes) return std::nullopt;
  std::memcpy(&length, buffer.data(), kLengthBytes);
  if (length > kLongestText) throw CommError("a frame of the store is too long to be one");
  if (buffer.size() < kLengthBytes + length + kProofBytes) return std::nullopt;
  std::string text = buffer.substr(kLengthBytes, length);
  const auto tag = std::string_view(buffer).substr(kLengthBytes + length, kProofBytes);
  if (!same_digest(tag, tag_of(text)))
    throw CommError("a frame of the store was changed on its way");
  buffer.erase(0, kLengthBytes + length + kProofBytes);
  ++number_;
  return text;
}

Greeting::Greeting(const Secret& secret, const Nonce& joiner, const Nonce& store)
    : key_(secret.key()), numbers_(joiner + store) {}

std::string Greeting::proof_of(Side side) const {
  return std::string(text_of(hmac_sha256(key_, fmt::format("{} {}", name_of(side), numbers_))));
}

Seal Greeting::seal_of(Side side) const {
  return Seal(std::string(
      text_of(hmac_sha256(key_, fmt::format("seal of {} {}", name_of(side), numbers_)))));
}

}  // namespace sheaf::comm::store
