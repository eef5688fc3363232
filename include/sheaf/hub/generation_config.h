#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::hub {

/// How a model's makers want texts to be continued. What they have left open has the meaning that
/// transformers gives it.
struct GenerationConfig {
  /// Whether tokens are drawn; else the likeliest is taken.
  bool do_sample = false;
  double temperature = 1;
  std::int64_t top_k = 50;
  double top_p = 1;
  double repetition_penalty = 1;
  /// Tokens that end a text.
  std::vector<std::int64_t> eos_token_ids = {};
  std::optional<std::int64_t> bos_token_id = std::nullopt;
};

/// Reads the text of a generation_config.json. Throws UsageError that names the field for a value
/// that cannot be.
[[nodiscard]] GenerationConfig parse_generation_config(std::string_view text);

/// Reads what a model's folder says: its generation_config.json, or the tokens that its config.json
/// names where there is none. Throws UsageError, IoError.
[[nodiscard]] GenerationConfig read_generation_config(const std::string& folder);

/// Returns the text of a generation_config.json that names these tokens as the end of a text.
[[nodiscard]] std::string format_generation_config(const std::vector<std::int64_t>& eos_token_ids);

}  // namespace sheaf::hub
