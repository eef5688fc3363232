#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "data/bpe/definition.h"
#include "data/bpe/pattern.h"

namespace sheaf::data::bpe {

/// A part of a text: one added token, or what is between them.
struct Section {
  std::string_view text;
  std::optional<std::uint32_t> token;
};

/// Finds added tokens in a text: from left to right, the longest at each place.
class AddedTokenFinder {
 public:
  /// `texts` are what is looked for: those of the tokens, or these after normalization.
  AddedTokenFinder(std::vector<AddedToken> tokens, std::span<const std::string> texts);

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  /// Appends the sections of `text` to `sections`; none is empty.
  void split(std::string_view text, std::vector<Section>& sections) const;

 private:
  /// Letters of a tree of all texts.
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> next;
    /// Which token ends here; -1 for none.
    int token = -1;
  };
  /// Where a token was found.
  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    const AddedToken* token = nullptr;
  };

  void insert(std::string_view text, int token);
  [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from) const;
  [[nodiscard]] std::optional<Found> match_at(std::string_view text, std::size_t at) const;
  [[nodiscard]] std::size_t next_candidate(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::array<bool, 256> begins_{};
  /// The byte that all texts begin with, where they do.
  std::optional<char> only_begin_;
};

}  // namespace sheaf::data::bpe
