#include "data/bpe/added_tokens.h"

#include <algorithm>

#include "data/bpe/char_classes.h"
#include "data/bpe/code_points.h"

namespace sheaf::data::bpe {
namespace {

/// Returns the character that ends at the end of `text`; size 0 if none does.
CodePoint last_code_point(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(4, text.size()); ++size) {
    const std::size_t at = text.size() - size;
    if (continues_character(text[at])) continue;
    const CodePoint point = read_code_point(text.substr(at));
    return point.size == size ? point : CodePoint{};
  }
  return {};
}

CodePoint first_code_point(std::string_view text) {
  return text.empty() ? CodePoint{} : read_code_point(text);
}

bool is_space(CodePoint point) {
  return point.size > 0 && CharClasses::table().of(point.value) == CharClass::space;
}

/// \w as Rust's regular expressions have it.
bool is_in_word(std::string_view character) {
  static const Pattern kWord(
      R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}\x{200c}\x{200d}])");
  return !character.empty() && Pattern::Search(kWord).find(character, 0).has_value();
}

bool is_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view left = text.substr(0, begin);
  const std::string_view right = text.substr(end);
  return !is_in_word(left.substr(left.size() - last_code_point(left).size)) &&
         !is_in_word(right.substr(0, first_code_point(right).size));
}

std::size_t without_spaces_at_end(std::string_view text) {
  for (auto last = last_code_point(text); is_space(last); last = last_code_point(text)) {
    text.remove_suffix(last.size);
  }
  return text.size();
}

std::size_t spaces_at_beginning(std::string_view text) {
  const std::size_t all = text.size();
  for (auto first = first_code_point(text); is_space(first); first = first_code_point(text)) {
    text.remove_prefix(first.size);
  }
  return all - text.size();
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens,
                                   std::span<const std::string> texts)
    : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) insert(texts[i], static_cast<int>(i));
  }
  if (std::count(begins_.begin(), begins_.end(), true) == 1) {
    only_begin_ =
        static_cast<char>(std::find(begins_.begin(), begins_.end(), true) - begins_.begin());
  }
}

void AddedTokenFinder::insert(std::string_view text, int token) {
  begins_.at(static_cast<unsigned char>(text.front())) = true;
  std::uint32_t at = 0;
  for (const char c : text) {
    auto& next = nodes_[at].next;
    const auto known =
        std::find_if(next.begin(), next.end(), [c](auto& each) { return each.first == c; });
    if (known != next.end()) {
      at = known->second;
      continue;
    }
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    next.emplace_back(c, made);
    nodes_.emplace_back();
    at = made;
  }
  if (nodes_[at].token < 0) nodes_[at].token = token;
}

std::size_t AddedTokenFinder::next_candidate(std::string_view text, std::size_t from) const {
  if (only_begin_) return std::min(text.find(*only_begin_, from), text.size());
  while (from < text.size() && !begins_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::match_at(std::string_view text,
                                                                  std::size_t at) const {
  std::optional<Found> longest;
  const Node* node = nodes_.data();
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto next = std::find_if(
        node->next.begin(), node->next.end(), [&](auto& each) { return each.first == text[i]; });
    if (next == node->next.end()) break;
    node = &nodes_[next->second];
    if (node->token >= 0)
      longest = Found{at, i + 1, &tokens_[static_cast<std::size_t>(node->token)]};
  }
  return longest;
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text,
                                                              std::size_t from) const {
  for (auto at = next_candidate(text, from); at < text.size(); at = next_candidate(text, at + 1)) {
    if (const auto found = match_at(text, at)) return found;
  }
  return std::nullopt;
}

void AddedTokenFinder::split(std::string_view text, std::vector<Section>& sections) const {
  std::size_t done = 0;
  std::size_t from = 0;
  while (const auto found = find(text, from)) {
    const AddedToken& token = *found->token;
    // What is looked at is passed over, also where it is no token after all.
    from = found->end;
    if (token.single_word && !is_alone(text, found->begin, found->end)) continue;
    std::size_t begin = found->begin;
    std::size_t end = found->end;
    if (token.takes_left) begin = std::max(without_spaces_at_end(text.substr(0, begin)), done);
    if (token.takes_right) end += spaces_at_beginning(text.substr(end));
    if (done < begin) sections.push_back({text.substr(done, begin - done), std::nullopt});
    // The one before may have taken all the spaces that this one is made of.
    if (begin < end) sections.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) sections.push_back({text.substr(done), std::nullopt});
}

}  // namespace sheaf::data::bpe
