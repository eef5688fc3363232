#include <fmt/format.h>

#include "base/quoting.h"
#include "data/bpe/pattern.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

// Unicode's White_Space. PCRE2 takes U+180E for a space too, which it has not been since 2013.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

/// Walks over an expression and writes it anew.
class Translation {
 public:
  explicit Translation(std::string_view expression) : all_(expression) {}

  std::string run() {
    while (at_ < all_.size()) {
      const char c = all_[at_];
      if (c == '\\') {
        escape_outside();
      } else if (c == '[') {
        brackets();
      } else {
        out_.push_back(c);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UsageError(fmt::format(
        "a pattern of the tokenizer has {}, which is not supported: {}", what, in_quotes(all_)));
  }

  // Returns the character after a backslash and passes over both.
  char take_escape() {
    if (at_ + 1 >= all_.size()) refuse("a backslash at its end");
    at_ += 2;
    return all_[at_ - 1];
  }

  void keep_escape(char name) {
    out_.push_back('\\');
    out_.push_back(name);
  }

  void escape_outside() {
    switch (const char name = take_escape(); name) {
      case 's':
        out_ += fmt::format("[{}]", kSpaces);
        break;
      case 'S':
        out_ += fmt::format("[^{}]", kSpaces);
        break;
      case 'h':
        out_ += fmt::format("[{}]", kHexDigits);
        break;
      case 'H':
        out_ += fmt::format("[^{}]", kHexDigits);
        break;
      case 'K':
      case 'g':
      case 'k':
      case 'G':
      case 'O':
      case 'N':
        refuse(fmt::format("\\{}", name));
      default:
        keep_escape(name);
    }
  }

  void escape_inside() {
    switch (const char name = take_escape(); name) {
      case 's':
        out_ += kSpaces;
        break;
      case 'h':
        out_ += kHexDigits;
        break;
      case 'S':
        // All but these; only "[\s\S]" and the like are written so.
        out_ +=
            R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
            R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
        break;
      case 'H':
      case 'R':
      case 'X':
        refuse(fmt::format("\\{} in brackets", name));
      default:
        keep_escape(name);
    }
  }

  void brackets() {
    out_.push_back(all_[at_++]);
    if (next_is('^')) out_.push_back(all_[at_++]);
    if (next_is(']')) {
      // Both take a bracket that comes first for itself.
      out_ += "\\]";
      ++at_;
    }
    while (!next_is(']')) {
      if (at_ >= all_.size()) refuse("a [ without its ]");
      if (all_[at_] == '\\') {
        escape_inside();
      } else if (all_[at_] == '[') {
        named_class();
      } else if (all_[at_] == '&' && all_.substr(at_).starts_with("&&")) {
        refuse("&& in brackets");
      } else {
        out_.push_back(all_[at_++]);
      }
    }
    out_.push_back(all_[at_++]);
  }

  void named_class() {
    const auto end = all_.find(":]", at_);
    if (!all_.substr(at_).starts_with("[:") || end == std::string_view::npos) {
      refuse("brackets in brackets");
    }
    out_ += all_.substr(at_, end + 2 - at_);
    at_ = end + 2;
  }

  [[nodiscard]] bool next_is(char c) const { return at_ < all_.size() && all_[at_] == c; }

  std::string_view all_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string in_pcre2_syntax(std::string_view expression) { return Translation(expression).run(); }

}  // namespace sheaf::data::bpe
