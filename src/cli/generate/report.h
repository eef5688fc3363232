#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/generate/prompts.h"
#include "sheaf/base/units.h"

namespace sheaf::cli {

/// How fast prompts were read and texts were continued. The first token of a text comes out of
/// reading its prompt, so its time is the prompt's.
struct GenerateSpeed {
  std::int64_t prompt_tokens = 0;
  Seconds prompt_time{0};
  std::int64_t new_tokens = 0;
  /// Those that came after the first of their text.
  std::int64_t later_tokens = 0;
  Seconds later_time{0};
};

/// What has become of one prompt.
struct GeneratedText {
  Prompt prompt;
  std::string text;
  std::int64_t num_tokens = 0;
  /// Why it has no more: length, end (a token that ends texts), stop (a text of --stop) or
  /// interrupted.
  std::string_view ending;
};

/// What generated the texts.
struct Generator {
  std::string folder;
  std::int64_t parameters = 0;
  std::string dtype;
  std::string device;
  Seconds load_time{0};
};

/// Returns a page with times for people.
[[nodiscard]] std::string speed_page(const Generator& generator, const GenerateSpeed& speed);
/// Returns everything as JSON.
[[nodiscard]] std::string json_page(const Generator& generator,
                                    const GenerateSpeed& speed,
                                    const std::vector<GeneratedText>& texts);

}  // namespace sheaf::cli
