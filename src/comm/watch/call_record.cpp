#include "call_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace sheaf::comm {

ShortName short_name(std::string_view name) {
  ShortName result{};
  // Of a long name the end says more: "...blocks.12.attention".
  const std::size_t size = std::min(name.size(), result.size() - 1);
  name.copy(result.data(), size, name.size() - size);
  return result;
}

std::string_view text_of(const ShortName& name) {
  return {name.data(), ::strnlen(name.data(), name.size())};
}

bool CallRecord::is_message() const { return what() == Kind::send || what() == Kind::recv; }

std::uint64_t fingerprint_of(const CallRecord& call) {
  // Ranks may give each other different amounts.
  const std::int64_t bytes = call.what() == Kind::all_to_all ? 0 : call.bytes;
  const std::uint64_t kind = std::uint64_t{call.kind} << 40 |
                             std::uint64_t{static_cast<std::uint8_t>(call.dtype)} << 32 |
                             static_cast<std::uint32_t>(call.peer);
  const std::array<std::uint64_t, 2> numbers = {kind, static_cast<std::uint64_t>(bytes)};
  const std::string_view unit = text_of(call.unit);
  const std::uint64_t seed = checksum_of(std::as_bytes(std::span(numbers)));
  return checksum_of(std::as_bytes(std::span(unit)), seed);
}

std::string describe(const CallRecord& call) {
  std::string text(name(call.what()));
  if (call.what() != Kind::barrier) {
    text += fmt::format(
        " of {} bytes of {}", call.bytes, c10::toString(static_cast<at::ScalarType>(call.dtype)));
  }
  const std::string_view unit = text_of(call.unit);
  if (!unit.empty()) text += fmt::format(" for unit {}", unit);
  if (call.what() == Kind::broadcast && call.peer > 0) {
    text += fmt::format(" from rank {}", call.peer);
  }
  if (call.what() == Kind::send) text += fmt::format(" to rank {}", call.peer);
  if (call.what() == Kind::recv) text += fmt::format(" from rank {}", call.peer);
  return text;
}

}  // namespace sheaf::comm
