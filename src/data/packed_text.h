#pragma once

#include <memory>
#include <string>

#include "data/token_source.h"
#include "sheaf/data/dataset.h"

namespace sheaf::data {

/// Tokens [begin, begin + count) of a source.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// What training and evaluation have of a source; one that has nothing has count 0.
struct TokenSplit {
  TokenRange training;
  TokenRange evaluation;
};

/// Keeps the last `part` of `tokens` apart for evaluation: at least one sample of `context` tokens,
/// and nothing where the part is 0. Throws UsageError if either would have no sample.
[[nodiscard]] TokenSplit split_tokens(std::int64_t tokens, double part, std::int64_t context);

/// Tokens, and where documents begin among them; null where that does not matter.
struct DocumentTokens {
  std::shared_ptr<const TokenSource> source;
  std::shared_ptr<const DocumentIndex> documents = nullptr;
};

/// Samples of T tokens and the T tokens that are one further, each sample T tokens after the one
/// before: every token but the first is a target once. What does not fill a sample is left out.
///
/// With an index of documents, positions count from 0 in each of them, and the first token of a
/// document is no target. What is left of a document at the end of a sample begins the next one as
/// if it were a document: positions count from 0 again.
class PackedText final : public Dataset {
 public:
  PackedText(DocumentTokens tokens, TokenRange range, std::int64_t context);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::int64_t targets_per_sample() const override { return context_; }
  [[nodiscard]] Rows make_batch(std::int64_t count) const override;
  void fill(std::int64_t index, std::int64_t row, const Rows& rows) const override;

  /// Returns the tokens at the end that do not fill a sample.
  [[nodiscard]] std::int64_t left_out() const { return range_.count - 1 - size_ * context_; }

 private:
  void cut(std::int64_t begin, std::int64_t* positions, std::int64_t* targets) const;

  DocumentTokens tokens_;
  TokenRange range_;
  std::int64_t context_;
  std::int64_t size_;
};

}  // namespace sheaf::data
