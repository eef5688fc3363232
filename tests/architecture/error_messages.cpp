#include "error_messages.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

namespace sheaf {
namespace {

namespace fs = std::filesystem;

// Returns where the text or character that begins at `at` ends, behind its last quote.
std::size_t end_of_quoted(std::string_view code, std::size_t at) {
  const char quote = code[at];
  for (++at; at < code.size() && code[at] != quote; ++at) {
    if (code[at] == '\\') ++at;
  }
  return std::min(at + 1, code.size());
}

bool is_digit_separator(std::string_view code, std::size_t at) {
  return code[at] == '\'' && at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0;
}

// Calls `take(at)` for each character outside of texts and brackets, until it returns true or the
// code or its bracket ends; returns where that was.
template <class Take>
std::size_t walk(std::string_view code, std::size_t at, Take take) {
  int depth = 0;
  while (at < code.size()) {
    const char c = code[at];
    if (depth == 0 && take(at)) return at;
    if (c == '"' || (c == '\'' && !is_digit_separator(code, at))) {
      at = end_of_quoted(code, at);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth < 0) return at;
    ++at;
  }
  return at;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

std::vector<std::string_view> split(std::string_view code, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (begin <= code.size()) {
    const std::size_t end = walk(code, begin, [&](std::size_t i) { return code[i] == separator; });
    parts.push_back(trimmed(code.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// Returns what is between the brackets of a call that begins the code, empty where it is another.
std::string_view argument_of(std::string_view code, std::string_view function) {
  if (!code.starts_with(function) || !code.ends_with(')')) return {};
  return code.substr(function.size(), code.size() - function.size() - 1);
}

std::string without_escapes(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const bool is_escaped = literal[i] == '\\' && i + 1 < literal.size();
    if (is_escaped) ++i;
    text += is_escaped && literal[i] == 'n' ? ' ' : literal[i];
  }
  return text;
}

// Joins neighbouring literals; {} where something else stands there.
std::string joined_literals(std::string_view code) {
  std::string text;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] == ' ' || code[at] == '\n') continue;
    if (code[at] != '"') return "{}";
    const std::size_t end = end_of_quoted(code, at);
    text += without_escapes(code.substr(at + 1, end - at - 2));
    at = end - 1;
  }
  return text;
}

std::vector<std::string> sentences_of_term(std::string_view term) {
  for (const std::string_view wrapper : {"std::string(", "fmt::runtime(", "("}) {
    if (const auto inner = argument_of(term, wrapper); !inner.empty()) return sentences_of(inner);
  }
  if (const auto arguments = argument_of(term, "fmt::format("); !arguments.empty()) {
    static const std::regex value(R"(\{[^{}]*\})");
    std::vector<std::string> sentences = sentences_of(split(arguments, ',').front());
    for (auto& each : sentences) each = std::regex_replace(each, value, "{}");
    return sentences;
  }
  return {joined_literals(term)};
}

// Returns the two sides of the ':' in "condition ? one : other", none where it is no such thing.
std::vector<std::string_view> alternatives_of(std::string_view code) {
  const std::size_t mark = walk(code, 0, [&](std::size_t i) { return code[i] == '?'; });
  if (mark >= code.size()) return {};
  const std::string_view rest = code.substr(mark + 1);
  const std::size_t colon = walk(rest, 0, [&](std::size_t i) {
    return rest[i] == ':' && rest.substr(i, 2) != "::" && (i == 0 || rest[i - 1] != ':');
  });
  if (colon >= rest.size()) return {};
  return {trimmed(rest.substr(0, colon)), trimmed(rest.substr(colon + 1))};
}

// Returns the argument that says most to people.
std::string_view saying(std::string_view arguments) {
  std::string_view best;
  std::size_t most = 0;
  for (const std::string_view each : split(arguments, ',')) {
    std::size_t letters = 1;
    for (const auto& sentence : sentences_of(each)) {
      letters = std::max(letters, 2 + longest_part(sentence).size());
    }
    if (letters > most) {
      most = letters;
      best = each;
    }
  }
  return best;
}

std::string kind_of(const std::string& maker) {
  if (maker.ends_with("sentence = ")) return "failure";
  if (maker.starts_with("log::")) return "warning";
  const std::string name = maker.substr(0, maker.size() - 1);
  if (!name.starts_with("throw ") && !name.starts_with("return ")) return "";
  return name.substr(name.find_last_of(" :") + 1);
}

// Returns the class that phrases of a source become part of: what its refuse() or fail() throws, or
// where that is written elsewhere, what the source throws; a UsageError where it throws nothing.
std::string kind_of_phrases(const std::string& code) {
  static const std::regex helper(R"(\b(refuse|fail)\([^)]*\)[^;{}]*\{[^}]*?\bthrow (\w+)\()");
  static const std::regex any(R"(\bthrow (\w*Error|Damaged)\()");
  std::smatch found;
  if (std::regex_search(code, found, helper)) return found[2];
  const bool fails = std::regex_search(code, found, any);
  return fails && code.find("throw UsageError(") == std::string::npos ? found[1].str()
                                                                      : "UsageError";
}

// Comments may hold anything; their lines stay.
std::string without_comments(const std::string& source) {
  static const std::regex comment(R"((^|\s)//[^\n]*)");
  return std::regex_replace(source, comment, "$1");
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view expression) {
  if (const auto sides = alternatives_of(expression); !sides.empty()) {
    std::vector<std::string> both = sentences_of(sides[0]);
    for (auto& other : sentences_of(sides[1])) both.push_back(std::move(other));
    return both;
  }
  std::vector<std::string> sentences{""};
  for (const std::string_view term : split(expression, '+')) {
    std::vector<std::string> longer;
    for (const std::string& begin : sentences) {
      for (const std::string& end : sentences_of_term(term)) longer.push_back(begin + end);
    }
    sentences = std::move(longer);
  }
  return sentences;
}

std::vector<ErrorMessage> messages_of(const std::string& source) {
  static const std::regex maker(
      R"(\b(throw|return) (checkpoint::)?((Usage|Io|Comm|Watch)?Error|Damaged|UnknownVersion|)"
      R"(Diverged|RollBack)\(|\bsentence = |\blog::(warning|error)\(|)"
      R"(\b(refuse|fail|require|unreadable)\()");
  const std::string code = without_comments(source);
  const std::string phrases = kind_of_phrases(code);
  std::vector<ErrorMessage> found;
  for (std::sregex_iterator i(code.begin(), code.end(), maker), none; i != none; ++i) {
    const auto at = static_cast<std::size_t>(i->position());
    const std::size_t begin = at + static_cast<std::size_t>(i->length());
    const std::string kind = kind_of(i->str());
    const bool is_value = kind == "failure";
    const std::size_t end = walk(code, begin, [&](std::size_t place) {
      return code[place] == ';' || (is_value && code[place] == ',');
    });
    const auto arguments = trimmed(std::string_view(code).substr(begin, end - begin));
    const auto line = 1 + std::count(code.begin(), code.begin() + static_cast<long>(at), '\n');
    // The first argument of a line in the log is its area.
    const std::size_t area = kind == "warning" ? arguments.find(',') + 1 : 0;
    for (auto& sentence : sentences_of(saying(arguments.substr(area)))) {
      found.push_back({.kind = kind.empty() ? phrases : kind,
                       .is_phrase = kind.empty(),
                       .text = std::move(sentence),
                       .line = static_cast<int>(line)});
    }
  }
  return found;
}

std::vector<std::string> long_texts_of(const std::string& source) {
  static const std::regex texts(R"re("(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)re");
  constexpr std::size_t kLong = 25;
  static const std::regex include(R"(#include [^\n]*)");
  const std::string code = std::regex_replace(without_comments(source), include, "");
  std::vector<std::string> found;
  for (std::sregex_iterator i(code.begin(), code.end(), texts), none; i != none; ++i) {
    std::string text = joined_literals(i->str());
    if (longest_part(text).size() >= kLong) found.push_back(std::move(text));
  }
  return found;
}

bool has_words(const std::string& sentence) {
  constexpr std::size_t kFewestLetters = 6;
  return longest_part(sentence).size() >= kFewestLetters;
}

std::string longest_part(const std::string& sentence) {
  static const std::regex value(R"(\{[^{}]*\})");
  std::istringstream parts(std::regex_replace(sentence, value, "\n"));
  std::string longest;
  for (std::string part; std::getline(parts, part);) {
    if (part.size() > longest.size()) longest = part;
  }
  const auto first = longest.find_first_not_of(" :,;('\"");
  const auto last = longest.find_last_not_of(" :,;('\"");
  return first == std::string::npos ? "" : longest.substr(first, last - first + 1);
}

MessagesByPath messages_below(const fs::path& root) {
  MessagesByPath messages;
  for (const char* folder : {"src", "include", "apps"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto kind = entry.path().extension();
      if (kind != ".cpp" && kind != ".h" && kind != ".cu") continue;
      messages[fs::relative(entry.path(), root).string()] = messages_of(text_of_file(entry.path()));
    }
  }
  return messages;
}

std::string text_of_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace sheaf
