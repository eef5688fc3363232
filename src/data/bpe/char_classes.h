#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::data::bpe {

/// What the patterns of GPT-2 and its followers tell apart: \p{L}, \p{N}, \s and the rest.
enum class CharClass : std::uint8_t { other, letter, number, space };

/// The class of every character, as Pattern sees it: one table, so that text is split alike with
/// and without a regular expression.
class CharClasses {
 public:
  /// Returns the only one; the first call takes some milliseconds.
  [[nodiscard]] static const CharClasses& table();

  [[nodiscard]] CharClass of(char32_t character) const { return classes_[character]; }

 private:
  CharClasses();
  std::vector<CharClass> classes_;
};

}  // namespace sheaf::data::bpe
