#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf::data::bpe {

/// Bytes [begin, end) of a text.
struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A regular expression as tokenizer files write it (Oniguruma's syntax), run by PCRE2 on
/// characters with Unicode's classes. Many threads may use one at once.
class Pattern {
 public:
  /// Throws UsageError for what is no expression, or means something else to PCRE2.
  explicit Pattern(const std::string& expression);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) = delete;

  /// Finds matches from left to right in texts that are well-formed UTF-8. For one thread.
  class Search {
   public:
    explicit Search(const Pattern& pattern);
    ~Search();
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Returns the first match that begins at `from` or later, and is not empty. Throws UsageError
    /// if the expression takes too many steps on this text.
    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from);

   private:
    [[nodiscard]] std::optional<Match> try_find(std::string_view text, std::size_t from);

    struct Memory;
    const Pattern& pattern_;
    std::unique_ptr<Memory> memory_;
  };

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Returns an expression of Oniguruma's syntax in PCRE2's, which differ in what \s and \h are and
/// in what brackets may hold. Throws UsageError where there is no equal.
[[nodiscard]] std::string in_pcre2_syntax(std::string_view expression);

}  // namespace sheaf::data::bpe
