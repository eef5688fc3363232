#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/packed_text.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/options.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data {

/// A source of tokens and what else is known of it.
struct Text {
  /// With an index of documents where they are to be kept apart.
  DocumentTokens tokens;
  std::string name;
  std::int64_t vocabulary = ByteTokenizer::kVocabulary;
  std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<ByteTokenizer>();
  /// Of token files: that of the tokenizer that made them.
  std::uint64_t tokenizer_hash = 0;
};

/// Opens what is no file: the embedded text, random tokens, stories. Throws UsageError for a
/// tokenizer that is not there, and for sizes that cannot be.
[[nodiscard]] Text open_made_text(const DataOptions& options, const DataRequest& request);

/// Opens a token file or a folder of them, with its documents or without. Throws UsageError for
/// what is not there or damaged.
[[nodiscard]] Text open_token_text(const std::string& path, bool boundaries);

/// Gives token files the tokenizer that the options name. Throws UsageError if another one has made
/// them.
[[nodiscard]] Text with_tokenizer(Text text, const DataOptions& options);

}  // namespace sheaf::data
