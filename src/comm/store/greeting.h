#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "secret.h"

namespace sheaf::comm::store {

/// Note [Greeting]: how a store and who joins it make sure of each other.
///
///   joiner -> store   hello: magic, 32 random bytes
///   store -> joiner   hello: magic, 32 random bytes
///   joiner -> store   proof: HMAC(secret, "joiner", both numbers)
///   store -> joiner   verdict: 'y' and HMAC(secret, "store", both numbers); or 'n'
///
/// The secret itself never travels, and what was overheard proves nothing another time. All that
/// follows is sealed: each frame carries its length and an HMAC, by a key of this connection, over
/// its direction, number and text, so that nobody on the way can change, drop, repeat or add one
/// unnoticed. It is not encrypted. Until the proof a store reads a fixed number of bytes only.
inline constexpr std::size_t kHelloBytes = 40;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kVerdictBytes = 1 + kProofBytes;
inline constexpr char kWelcome = 'y';
inline constexpr char kRefused = 'n';

using Nonce = std::string;

/// Returns 32 random bytes.
[[nodiscard]] Nonce fresh_nonce();
[[nodiscard]] std::string hello_of(const Nonce& nonce);
/// Returns what hello_of() took, nothing if that is no hello.
[[nodiscard]] std::optional<Nonce> nonce_of(std::string_view hello);

/// The end of a connection that a text goes to or comes from.
enum class Side { joiner, store };

/// One direction of a connection after the greeting; both ends count the frames.
class Seal {
 public:
  /// No frame is longer.
  static constexpr std::size_t kLongestText = std::size_t{64} << 20;

  explicit Seal(std::string key) : key_(std::move(key)) {}

  /// Returns the frame that carries `text`. Throws CommError for one that is too long.
  [[nodiscard]] std::string close(std::string_view text);
  /// Takes the first frame out of `buffer`; nothing until it is whole. Throws CommError where it is
  /// not what the other end sealed.
  [[nodiscard]] std::optional<std::string> open(std::string& buffer);

 private:
  [[nodiscard]] std::string tag_of(std::string_view text) const;

  std::string key_;
  std::uint64_t number_ = 0;
};

/// What both ends compute from the secret and their numbers.
class Greeting {
 public:
  Greeting(const Secret& secret, const Nonce& joiner, const Nonce& store);

  [[nodiscard]] std::string proof_of(Side side) const;
  /// Returns the seal of what that side says.
  [[nodiscard]] Seal seal_of(Side side) const;

 private:
  std::string key_;
  std::string numbers_;
};

}  // namespace sheaf::comm::store
