#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sheaf::testing {

/// Texts that tokenizers get wrong: name and bytes, broken UTF-8 among them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> difficult_texts();

/// Returns one character.
[[nodiscard]] std::string as_utf8(char32_t character);

/// Returns a text of characters drawn from many scripts, symbols, digits, spaces and newlines; the
/// same for the same seed.
[[nodiscard]] std::string random_text(unsigned seed, std::size_t characters);

}  // namespace sheaf::testing
