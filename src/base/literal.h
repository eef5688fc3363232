#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/error.h"
#include "sheaf/base/units.h"

namespace sheaf {

inline constexpr std::string_view kExpectedBool = "true or false";
inline constexpr std::string_view kExpectedNumber = "a number such as 0.1 or 3e-4";

/// Returns the error "expected <expected>, got '<text>'".
[[nodiscard]] UsageError unreadable(std::string_view expected, std::string_view text);

/// Reads a value from all of `text`. Throws UsageError that says what was expected.
void read_text(std::string_view text, bool& value);
void read_text(std::string_view text, int& value);
void read_text(std::string_view text, std::int64_t& value);
void read_text(std::string_view text, double& value);
void read_text(std::string_view text, std::string& value);
void read_text(std::string_view text, Bytes& value);
void read_text(std::string_view text, Seconds& value);

/// Returns the value as text that reads back to exactly the same value: "64MiB", "5min", "0.25".
[[nodiscard]] std::string exact_text(std::int64_t value);
[[nodiscard]] std::string exact_text(double value);
[[nodiscard]] std::string exact_text(Bytes value);
[[nodiscard]] std::string exact_text(Seconds value);

/// Returns the value as a TOML literal.
[[nodiscard]] std::string toml_literal(bool value);
[[nodiscard]] std::string toml_literal(int value);
[[nodiscard]] std::string toml_literal(std::int64_t value);
[[nodiscard]] std::string toml_literal(double value);
[[nodiscard]] std::string toml_literal(std::string_view value);
[[nodiscard]] std::string toml_literal(const std::string& value);
[[nodiscard]] std::string toml_literal(Bytes value);
[[nodiscard]] std::string toml_literal(Seconds value);

template <class Item>
[[nodiscard]] std::string toml_literal(const std::vector<Item>& items) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ", ";
    text += toml_literal(item);
  }
  return text + "]";
}

}  // namespace sheaf
