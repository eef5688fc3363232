#include "data/bpe/splitters.h"

#include <utility>

#include "data/bpe/char_classes.h"
#include "data/bpe/code_points.h"
#include "data/bpe/pattern.h"

namespace sheaf::data::bpe {
namespace {

/// A part of a text and whether the pattern matched it.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool matched = false;
};
using Pieces = std::vector<Piece>;

void add_between(Pieces& pieces, std::size_t begin, std::size_t end, bool matched) {
  if (begin < end) pieces.push_back({begin, end, matched});
}

Pieces find_pieces(Pattern::Search& search, std::string_view text) {
  Pieces pieces;
  std::size_t done = 0;
  while (const auto match = search.find(text, done)) {
    add_between(pieces, done, match->begin, false);
    pieces.push_back({match->begin, match->end, true});
    done = match->end;
  }
  add_between(pieces, done, text.size(), false);
  return pieces;
}

Pieces find_pieces(std::string_view wanted, std::string_view text) {
  Pieces pieces;
  std::size_t done = 0;
  for (auto at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, done)) {
    add_between(pieces, done, at, false);
    done = at + wanted.size();
    pieces.push_back({at, done, true});
  }
  add_between(pieces, done, text.size(), false);
  return pieces;
}

Pieces drop_matched(const Pieces& pieces) {
  Pieces kept;
  for (const Piece& piece : pieces) {
    if (!piece.matched) kept.push_back(piece);
  }
  return kept;
}

/// Joins a piece to the one before it where `joins(piece, before)` says so.
template <class Joins>
Pieces join(const Pieces& pieces, Joins joins) {
  Pieces joined;
  bool before = false;
  for (const Piece& piece : pieces) {
    if (!joined.empty() && joins(piece.matched, before)) {
      joined.back().end = piece.end;
    } else {
      joined.push_back(piece);
    }
    before = piece.matched;
  }
  return joined;
}

/// Joins each match to what follows it, but only the last of several matches in a row.
Pieces join_with_next(const Pieces& pieces) {
  Pieces joined;
  bool after = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (!joined.empty() && piece->matched && !after) {
      joined.back().begin = piece->begin;
    } else {
      joined.push_back(*piece);
    }
    after = piece->matched;
  }
  return {joined.rbegin(), joined.rend()};
}

Pieces arrange(Pieces pieces, const SplitByPattern& step) {
  if (step.invert) {
    for (Piece& piece : pieces) piece.matched = !piece.matched;
  }
  switch (step.behavior) {
    case SplitBehavior::removed:
      return drop_matched(pieces);
    case SplitBehavior::isolated:
      return pieces;
    case SplitBehavior::merged_with_previous:
      return join(pieces, [](bool matched, bool before) { return matched && !before; });
    case SplitBehavior::merged_with_next:
      return join_with_next(pieces);
    case SplitBehavior::contiguous:
      return join(pieces, [](bool matched, bool before) { return matched == before; });
  }
  return pieces;
}

/// Splits every part by `find`, a function from a text to its pieces.
template <class Find>
void split_each(Parts& parts, Find find) {
  std::vector<std::string_view> result;
  for (const std::string_view part : parts.list) {
    for (const Piece& piece : find(part)) {
      result.push_back(part.substr(piece.begin, piece.end - piece.begin));
    }
  }
  parts.list = std::move(result);
}

class PatternSplitter final : public Splitter {
 public:
  explicit PatternSplitter(SplitByPattern step)
      : step_(std::move(step)), pattern_(step_.expression) {}

  void split(Parts& parts) const override {
    Pattern::Search search(pattern_);
    split_each(parts,
               [&](std::string_view text) { return arrange(find_pieces(search, text), step_); });
  }

 private:
  SplitByPattern step_;
  Pattern pattern_;
};

class TextSplitter final : public Splitter {
 public:
  explicit TextSplitter(SplitByPattern step) : step_(std::move(step)) {}

  void split(Parts& parts) const override {
    split_each(parts, [&](std::string_view text) {
      return arrange(find_pieces(step_.expression, text), step_);
    });
  }

 private:
  SplitByPattern step_;
};

class ScanSplitter final : public Splitter {
 public:
  explicit ScanSplitter(Scanner scanner) : scanner_(scanner) {}

  void split(Parts& parts) const override {
    std::vector<std::string_view> result;
    for (std::string_view part : parts.list) {
      const char* const end = part.data() + part.size();
      for (const char* at = part.data(); at < end;) {
        const std::size_t size = scanner_.word_at(at, end);
        result.emplace_back(at, size);
        at += size;
      }
    }
    parts.list = std::move(result);
  }

 private:
  Scanner scanner_;
};

/// Returns runs of digits, or single ones, and what is between them.
Pieces find_digits(std::string_view text, bool each_alone) {
  Pieces pieces;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = known_code_point(text.data() + at);
    const bool digit = CharClasses::table().of(point.value) == CharClass::number;
    const bool goes_on = !pieces.empty() && pieces.back().matched == digit;
    if (goes_on && !(digit && each_alone)) {
      pieces.back().end += point.size;
    } else {
      pieces.push_back({at, at + point.size, digit});
    }
    at += point.size;
  }
  return pieces;
}

class DigitSplitter final : public Splitter {
 public:
  explicit DigitSplitter(bool each_alone) : each_alone_(each_alone) {}

  void split(Parts& parts) const override {
    split_each(parts, [&](std::string_view text) { return find_digits(text, each_alone_); });
  }

 private:
  bool each_alone_;
};

class SpacePrefixer final : public Splitter {
 public:
  void split(Parts& parts) const override {
    for (std::string_view& part : parts.list) {
      if (part.starts_with(' ')) continue;
      part = parts.made.emplace_back(" " + std::string(part));
    }
  }
};

std::optional<Scanner> scanner_of(const SplitByPattern& step) {
  if (step.is_text || step.invert || step.behavior != SplitBehavior::isolated) return std::nullopt;
  return scanner_for(step.expression);
}

std::unique_ptr<const Splitter> make(const SplitByPattern& step) {
  if (const auto scanner = scanner_of(step)) return std::make_unique<ScanSplitter>(*scanner);
  if (step.is_text) return std::make_unique<TextSplitter>(step);
  return std::make_unique<PatternSplitter>(step);
}
std::unique_ptr<const Splitter> make(const SplitDigits& step) {
  return std::make_unique<DigitSplitter>(step.each_alone);
}
std::unique_ptr<const Splitter> make(const PrefixSpace&) {
  return std::make_unique<SpacePrefixer>();
}

}  // namespace

std::unique_ptr<const Splitter> make_splitter(const SplitStep& step) {
  return std::visit([](const auto& each) { return make(each); }, step);
}

std::optional<Scanner> only_scanner(std::span<const SplitStep> steps) {
  if (steps.size() != 1) return std::nullopt;
  const auto* step = std::get_if<SplitByPattern>(&steps.front());
  return step == nullptr ? std::nullopt : scanner_of(*step);
}

}  // namespace sheaf::data::bpe
