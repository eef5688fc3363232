#include "sheaf/train/profile_section.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<StepRange> recorded_steps(const ProfileSection& profile) {
  if (profile.steps.empty()) return std::nullopt;
  const std::string_view text = profile.steps;
  const auto colon = text.find(':');
  const auto first = number_in(text.substr(0, colon));
  const auto last = colon == std::string_view::npos ? first : number_in(text.substr(colon + 1));
  if (!first || !last || *first < 1 || *last < *first) {
    throw UsageError(fmt::format(
        "profile.steps: expected FIRST:LAST, steps counted from 1 such as 10:13, got {}",
        in_quotes(profile.steps)));
  }
  return StepRange{*first, *last};
}

void check_recorded_steps(const ProfileSection& profile, std::int64_t steps) {
  const auto range = recorded_steps(profile);
  if (!range || range->first <= steps) return;
  throw UsageError(fmt::format(
      "profile.steps = {} begins after the last step of the run, {}", profile.steps, steps));
}

}  // namespace sheaf::train
