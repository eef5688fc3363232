#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sheaf::checkpoint {

/// Reads a JSON object that a person or another program wrote. Throws UsageError for text that is
/// no JSON or no object, names a member twice, or is nested as no such file is.
[[nodiscard]] nlohmann::json parse_object(std::string_view text);

/// Reads a whole file of that kind, and returns its text. Throws UsageError for one that is not
/// there or too large, IoError.
[[nodiscard]] std::string read_text(const std::string& path);

/// Returns a value for a message of one line.
[[nodiscard]] std::string in_words(const nlohmann::json& value);

}  // namespace sheaf::checkpoint
