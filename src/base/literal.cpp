#include "base/literal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/quoting.h"
#include "base/utf8.h"

namespace sheaf {
namespace {

template <class Integer>
Integer read_integer(std::string_view text) {
  Integer integer{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, integer);
  if (problem == std::errc::result_out_of_range && stop == end) {
    using Limits = std::numeric_limits<Integer>;
    throw unreadable(fmt::format("an integer between {} and {}", Limits::min(), Limits::max()),
                     text);
  }
  if (problem != std::errc() || stop != end) throw unreadable("an integer", text);
  return integer;
}

}  // namespace

UsageError unreadable(std::string_view expected, std::string_view text) {
  return UsageError(fmt::format("expected {}, got {}", expected, in_quotes(text)));
}

void read_text(std::string_view text, bool& value) {
  if (text != "true" && text != "false") throw unreadable(kExpectedBool, text);
  value = text == "true";
}

void read_text(std::string_view text, int& value) { value = read_integer<int>(text); }

void read_text(std::string_view text, std::int64_t& value) {
  value = read_integer<std::int64_t>(text);
}

void read_text(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end || !std::isfinite(value)) {
    throw unreadable(kExpectedNumber, text);
  }
}

void read_text(std::string_view text, std::string& value) {
  if (!is_utf8(text)) throw UsageError("expected a text in UTF-8, got other bytes");
  value = text;
}

void read_text(std::string_view text, Bytes& value) { value = parse_bytes(text); }

void read_text(std::string_view text, Seconds& value) { value = parse_seconds(text); }

std::string exact_text(std::int64_t value) { return std::to_string(value); }

std::string exact_text(double value) { return fmt::format("{}", value); }

std::string exact_text(Bytes value) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = value.count;
  std::string_view unit;
  for (const std::string_view larger : kUnits) {
    if (count == 0 || count % 1024 != 0) break;
    count /= 1024;
    unit = larger;
  }
  return fmt::format("{}{}", count, unit);
}

std::string exact_text(Seconds value) {
  struct Unit {
    std::string_view name;
    double scale;
  };
  constexpr std::array kUnits = {
      Unit{"h", 3600}, Unit{"min", 60}, Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}};
  const double seconds = value.count();
  for (const auto& unit : kUnits) {
    const double count = std::round(seconds / unit.scale);
    // The product is what parse_seconds will compute, so equality means that it reads back.
    if (count != 0 && count * unit.scale == seconds) return fmt::format("{}{}", count, unit.name);
  }
  return fmt::format("{}s", seconds);
}

std::string toml_literal(bool value) { return value ? "true" : "false"; }

std::string toml_literal(int value) { return std::to_string(value); }

std::string toml_literal(std::int64_t value) { return std::to_string(value); }

std::string toml_literal(double value) {
  std::string text = exact_text(value);
  // Without a point or an exponent TOML would call it an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_literal(std::string_view value) { return '"' + escaped(value, "\"\\") + '"'; }

std::string toml_literal(const std::string& value) { return toml_literal(std::string_view(value)); }

std::string toml_literal(Bytes value) {
  return value.count % 1024 == 0 && value.count != 0 ? toml_literal(exact_text(value))
                                                     : exact_text(value.count);
}

std::string toml_literal(Seconds value) { return toml_literal(exact_text(value)); }

}  // namespace sheaf
