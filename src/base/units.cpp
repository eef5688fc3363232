#include "sheaf/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

constexpr std::array kReadBytes = {Unit{"", 1},
                                   Unit{"B", 1},
                                   Unit{"KiB", 0x1p10},
                                   Unit{"MiB", 0x1p20},
                                   Unit{"GiB", 0x1p30},
                                   Unit{"TiB", 0x1p40},
                                   Unit{"kB", 1e3},
                                   Unit{"MB", 1e6},
                                   Unit{"GB", 1e9},
                                   Unit{"TB", 1e12}};
constexpr std::array kReadSeconds = {Unit{"", 1},
                                     Unit{"us", 1e-6},
                                     Unit{"ms", 1e-3},
                                     Unit{"s", 1},
                                     Unit{"min", 60},
                                     Unit{"h", 3600}};
constexpr std::array kWriteBytes = {
    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
constexpr std::array kWriteSeconds = {
    Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"min", 60}, Unit{"h", 3600}};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<double> find_scale(std::string_view name, std::span<const Unit> units) {
  const auto unit =
      std::ranges::find_if(units, [&](const Unit& each) { return same_letters(each.name, name); });
  return unit == units.end() ? std::nullopt : std::optional(unit->scale);
}

struct Quantity {
  double count = 0;
  double scale = 1;
};

// Reads "1.5 GiB" as a count and the scale of its unit; empty if it is not finite and at least 0.
std::optional<Quantity> read_quantity(std::string_view text, std::span<const Unit> units) {
  Quantity quantity;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, quantity.count);
  if (problem != std::errc() || !std::isfinite(quantity.count) || std::signbit(quantity.count)) {
    return std::nullopt;
  }
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  const auto scale = find_scale(unit, units);
  if (!scale) return std::nullopt;
  quantity.scale = *scale;
  return quantity;
}

// Digits alone may need more than the 53 bits of a double.
std::optional<Bytes> read_whole_bytes(std::string_view text) {
  Bytes bytes;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, bytes.count);
  if (problem != std::errc() || stop != end || bytes.count < 0) return std::nullopt;
  return bytes;
}

// Moves on to a larger unit as soon as the rounded number reaches it: 1.0 ms, not 1000.0 us.
std::string one_digit(double value, std::span<const Unit> units) {
  Unit chosen = units.front();
  for (const Unit& unit : units) {
    const double tenths = std::round(std::abs(value) / chosen.scale * 10);
    if (tenths >= std::round(unit.scale / chosen.scale * 10)) chosen = unit;
  }
  return fmt::format("{:.1f} {}", value / chosen.scale, chosen.name);
}

}  // namespace

std::string to_string(Bytes bytes) {
  constexpr std::int64_t kSmallest = 1 << 10;
  if (bytes.count > -kSmallest && bytes.count < kSmallest) return fmt::format("{} B", bytes.count);
  return one_digit(static_cast<double>(bytes.count), kWriteBytes);
}

std::string to_string(Seconds seconds) {
  if (seconds.count() == 0) return "0.0 s";
  return one_digit(seconds.count(), kWriteSeconds);
}

Bytes parse_bytes(std::string_view text) {
  if (const auto whole = read_whole_bytes(text)) return *whole;
  const auto quantity = read_quantity(text, kReadBytes);
  const double count = quantity ? std::round(quantity->count * quantity->scale) : -1;
  const bool splits_a_byte = quantity && quantity->scale == 1 && count != quantity->count;
  constexpr double kTooMany = 0x1p63;
  if (count < 0 || count >= kTooMany || splits_a_byte) {
    throw UsageError("expected a size such as 64MiB or 1.5GiB, got " + in_quotes(text));
  }
  return {static_cast<std::int64_t>(count)};
}

Seconds parse_seconds(std::string_view text) {
  const auto quantity = read_quantity(text, kReadSeconds);
  if (!quantity || !std::isfinite(quantity->count * quantity->scale)) {
    throw UsageError("expected a time such as 30s or 5min, got " + in_quotes(text));
  }
  return Seconds(quantity->count * quantity->scale);
}

}  // namespace sheaf
