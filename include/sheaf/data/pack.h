#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"

namespace sheaf::data {

/// How far reading has come.
struct ReadProgress {
  /// Bytes of the files, packed ones where they are packed.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
};

/// What reads documents from files.
struct InputOptions {
  /// Text files, split at `separator`, and .jsonl or .ndjson files, of whose objects `field` is the
  /// document; each may be packed by gzip or zstd.
  std::vector<std::string> paths;
  /// Empty: each text file is one document.
  std::string separator = "<|endoftext|>";
  std::string field = "text";
  /// 0: one per core.
  int threads = 0;
  /// Called by one thread at a time, after every few documents.
  std::function<void(const ReadProgress&)> progress;
  /// Ends the work with an Error as soon as it returns true.
  std::function<bool()> should_stop;
};

struct PackOptions {
  InputOptions input;
  std::shared_ptr<const Tokenizer> tokenizer;
  /// Put after each document; empty: the separator, if the tokenizer has such a token.
  std::string end_token;
  /// Folder to make; there must be none, or an empty one.
  std::string out;
  /// A shard takes no document that would make it larger, unless it is empty.
  std::int64_t shard_tokens = std::int64_t{1} << 28;
};

struct PackSummary {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  /// Of the files that were made.
  std::int64_t shards = 0;
  Bytes size;
  /// Of the text, unpacked.
  std::uint64_t text_bytes = 0;
  /// What is after each document.
  std::optional<std::int64_t> end_token;
};

/// Writes the tokens of all documents, in order, as token files shard-00000-of-00002.tok and so on.
/// The folder appears under its name when everything is in it. Throws UsageError for inputs that
/// cannot be read, IoError if the disk is full.
PackSummary pack(const PackOptions& options);

/// Counts the words of all documents, to train a tokenizer.
[[nodiscard]] WordCounts count_words(const InputOptions& input, WordPattern pattern);

}  // namespace sheaf::data
