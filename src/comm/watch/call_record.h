#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "../backend.h"
#include "sheaf/comm/traffic.h"

namespace sheaf::comm {

inline constexpr std::size_t kNameBytes = 64;
/// A name, cut where it is too long, ended by zeros.
using ShortName = std::array<char, kNameBytes>;

[[nodiscard]] ShortName short_name(std::string_view name);
[[nodiscard]] std::string_view text_of(const ShortName& name);

enum class CallState : std::uint16_t { running, done, failed };

/// One call of one rank. As large as it looks: it lies in memory that ranks share, word by word.
struct CallRecord {
  /// Counts the rank's calls, from 1; 0: there is none.
  std::uint64_t number = 0;
  /// The group's own number, see GroupLog.
  std::uint64_t group = 0;
  /// Counts the group's exchanges from 0, as traces do.
  std::uint64_t exchange = 0;
  CallState state = CallState::running;
  std::uint8_t kind = 0;
  std::int8_t dtype = static_cast<std::int8_t>(at::ScalarType::Undefined);
  /// The peer of a message or the root of a broadcast, in the group; -1: none.
  std::int32_t peer = -1;
  std::int64_t bytes = 0;
  /// Nanoseconds of the steady clock, which processes of a host have in common.
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::uint64_t fingerprint = 0;
  ShortName unit = {};

  [[nodiscard]] Kind what() const { return static_cast<Kind>(kind); }
  [[nodiscard]] bool is_message() const;
};
inline constexpr std::size_t kRecordWords = sizeof(CallRecord) / sizeof(std::uint64_t);
static_assert(sizeof(CallRecord) == 128);

/// Returns a number that is the same for calls which ranks may make together.
[[nodiscard]] std::uint64_t fingerprint_of(const CallRecord& call);

/// Writes "reduce_scatter of 4096 bytes of Float for unit blocks.3".
[[nodiscard]] std::string describe(const CallRecord& call);

}  // namespace sheaf::comm
