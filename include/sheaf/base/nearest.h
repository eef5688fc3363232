#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sheaf {

/// Returns the candidate that was most likely meant: few letters off, or equal after the last dot.
[[nodiscard]] std::optional<std::string> nearest(std::string_view unknown,
                                                 std::span<const std::string> candidates);

/// Joins texts as people do: "a, b or c".
[[nodiscard]] std::string join_or(std::span<const std::string> texts);

}  // namespace sheaf
