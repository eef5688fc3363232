#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/pack/text_stream.h"

namespace sheaf::data {

/// Where documents are and how they are told apart.
struct DocumentOptions {
  /// Files in order. One whose name ends with .jsonl or .ndjson (before .gz or .zst) has a JSON
  /// object per line, every other one is text.
  std::vector<std::string> paths;
  /// What is between the documents of a text file; empty: the file is one document.
  std::string separator = "<|endoftext|>";
  /// Member of a JSON object that is the document.
  std::string field = "text";
  /// A document must fit into memory several times.
  std::size_t largest = std::size_t{1} << 30;
};

/// A document as it lies in its file.
struct RawDocument {
  std::string text;
  /// Line of a JSON file; 0 for a text file, whose documents are not lines.
  std::int64_t line = 0;
  std::size_t file = 0;
};

/// Returns whether there is nothing but white space.
[[nodiscard]] bool is_blank(std::string_view text);

/// Reads documents one after another. For one thread.
class DocumentReader {
 public:
  /// Throws UsageError if there are no files, or one is not there.
  explicit DocumentReader(DocumentOptions options);

  /// Returns the next document; nothing after the last. Throws UsageError for one that is too
  /// large.
  [[nodiscard]] std::optional<RawDocument> next();
  /// Returns the bytes of all files, and how many of them have been read.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t bytes_read() const;

  /// Returns the text of a document that next() has given; many threads may ask at once. Throws
  /// UsageError, with file and line, if it is no JSON object with the field.
  [[nodiscard]] std::string text_of(RawDocument document) const;

 private:
  [[nodiscard]] bool open_next_file();
  [[nodiscard]] bool read_more();
  [[nodiscard]] std::string_view unread() const;
  [[nodiscard]] std::optional<RawDocument> next_of_file();
  [[nodiscard]] RawDocument take(std::size_t size, std::size_t and_skip);
  [[noreturn]] void refuse(const RawDocument& document, const std::string& what) const;

  DocumentOptions options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_of_closed_files_ = 0;
  std::unique_ptr<TextStream> stream_;
  std::size_t files_opened_ = 0;
  bool is_jsonl_ = false;
  std::int64_t line_ = 0;
  std::string buffer_;
  std::size_t done_ = 0;
};

}  // namespace sheaf::data
