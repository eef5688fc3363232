#include "train/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace sheaf::train {

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first_digit = number < 0 ? 1 : 0;
  for (std::size_t end = text.size(); end > first_digit + 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string rate_text(double rate) {
  constexpr double kLarge = 9e18;
  if (!(std::abs(rate) < kLarge)) return fmt::format("{:.3g}", rate);
  if (rate >= 99.95) return grouped(std::llround(rate));
  return fmt::format("{:.{}f}", rate, rate >= 9.995 ? 1 : 2);
}

std::string flops_text(double flops, const char* unit) {
  constexpr std::array<std::string_view, 7> kPrefixes = {"", "K", "M", "G", "T", "P", "E"};
  std::size_t i = 0;
  // One digit is shown of large numbers, so 999.95 is already the next prefix's 1.00.
  for (; flops >= 999.95 && i + 1 < kPrefixes.size(); ++i) flops /= 1000;
  return fmt::format("{:.{}f} {}{}", flops, flops < 10 ? 2 : 1, kPrefixes[i], unit);
}

std::string percent_text(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string left_text(Seconds time) {
  constexpr Seconds kMinute{60};
  return time < kMinute ? fmt::format("{:.0f} s left", time.count()) : to_string(time) + " left";
}

std::string count_text(std::int64_t count, const std::string& singular) {
  return grouped(count) + " " + singular + (count == 1 ? "" : "s");
}

}  // namespace sheaf::train
