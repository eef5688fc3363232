#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sheaf::data::bpe {

/// A token that is looked for in the text itself, before anything is split.
struct AddedToken {
  std::uint32_t id = 0;
  std::string text;
  /// Only where no letter or digit is beside it.
  bool single_word = false;
  /// Whether it takes the spaces before and after it along.
  bool takes_left = false;
  bool takes_right = false;
  /// Whether it is looked for in the text after normalization.
  bool normalized = false;
  bool special = false;
};

/// One step of what is done to a text before it is split.
enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
struct Prepend {
  std::string text;
};
struct Replace {
  std::string from;
  std::string to;
};
using NormalStep = std::variant<UnicodeForm, Prepend, Replace>;

/// What becomes of the parts that a pattern matches.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// One step of how a text is split into words.
struct SplitByPattern {
  std::string expression;
  /// Whether the expression is a text to look for and no regular expression.
  bool is_text = false;
  SplitBehavior behavior = SplitBehavior::isolated;
  /// Whether the pattern describes what is between the parts.
  bool invert = false;
};
struct SplitDigits {
  bool each_alone = false;
};
struct PrefixSpace {};
using SplitStep = std::variant<SplitByPattern, SplitDigits, PrefixSpace>;

/// One step of how tokens of characters become text again.
struct JoinBytes {};
struct JoinAll {};
struct StripEnds {
  std::string character;
  std::size_t start = 0;
  std::size_t stop = 0;
};
using DecodeStep = std::variant<Replace, JoinBytes, JoinAll, StripEnds>;

/// Two tokens that become one; the earlier in the list, the sooner.
struct Merge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t result = 0;

  bool operator==(const Merge&) const = default;
};

/// All that a byte-pair tokenizer is made of, as its files say. Readers make it and have checked
/// it: every id is one of `texts`.
struct Definition {
  /// What each token stands for, by id; empty where an id is not used.
  std::vector<std::string> texts;
  /// Whether words are made of bytes; otherwise of characters.
  bool byte_level = true;
  /// Tokens that words can be made of; the others are only found as added tokens.
  std::vector<bool> in_words;
  std::vector<Merge> merges;
  /// Whether a word that is a token is taken as it is.
  bool whole_words = false;
  /// For words of characters: what stands for each byte of a character that is no token.
  std::optional<std::array<std::uint32_t, 256>> byte_tokens;
  std::optional<std::uint32_t> unknown;
  bool fuse_unknown = false;
  std::vector<AddedToken> added;
  std::vector<NormalStep> normal_steps;
  std::vector<SplitStep> split_steps;
  std::vector<DecodeStep> decode_steps;
  /// What is put around a text for a model, such as begin-of-text.
  std::vector<std::uint32_t> before_text;
  std::vector<std::uint32_t> after_text;
};

/// No tokenizer has more; a file that says so is damaged.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 22;

/// Returns a number that is another one where any text could be encoded otherwise.
[[nodiscard]] std::uint64_t hash_of(const Definition& definition);

}  // namespace sheaf::data::bpe
