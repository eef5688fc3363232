#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sheaf::data {

// Note [Token files]
// Numbers are little-endian. 64 bytes of header:
//
//   at  0  8 bytes  "SHEAFTOK"
//   at  8  uint32   version: 1
//   at 12  uint32   bytes per token: 2 or 4
//   at 16  uint64   number of tokens
//   at 24  uint64   vocabulary: every token is below it
//   at 32  uint64   hash of the tokenizer
//   at 40  uint64   number of documents
//   at 48  uint64   checksum
//   at 56  8 bytes  zero
//
// Then the tokens, zeros up to a multiple of 8 bytes, and for each document the number of its first
// token (uint64). The checksum is XXH3 of the 48 bytes before it, seeded with XXH3 of all that
// comes after the header.

/// What the header of a token file says.
struct TokenFileInfo {
  std::uint32_t bytes_per_token = 2;
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
  std::uint64_t tokenizer_hash = 0;
  std::int64_t documents = 0;
  std::uint64_t checksum = 0;
};

/// A token file, mapped into memory. Many threads may read at once.
class TokenFile {
 public:
  /// Throws UsageError if there is no such file, or it is no token file, newer than this program,
  /// or truncated; IoError if the system refuses.
  explicit TokenFile(const std::string& path);
  ~TokenFile();
  TokenFile(TokenFile&&) noexcept;
  TokenFile& operator=(TokenFile&&) = delete;

  [[nodiscard]] const TokenFileInfo& info() const;
  /// Writes tokens [begin, begin + count) to `out`. Throws UsageError if they are not all there, or
  /// one is beyond the vocabulary.
  void tokens(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  /// Returns the number of each document's first token; valid as long as the file is open.
  [[nodiscard]] std::span<const std::uint64_t> document_starts() const;
  /// Reads the whole file. Throws UsageError if its checksum is another, a token is beyond the
  /// vocabulary, or documents do not follow one another.
  void verify() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TokenFileOptions {
  /// Up to 65536 a token takes 2 bytes, beyond it 4.
  std::int64_t vocabulary = 0;
  std::uint64_t tokenizer_hash = 0;
};

/// Writes a token file beside its place and moves it there when it is whole: whoever reads the path
/// sees the old file or the new one.
class TokenFileWriter {
 public:
  /// Throws UsageError for a vocabulary that does not fit, IoError if the system refuses.
  TokenFileWriter(const std::string& path, const TokenFileOptions& options);
  /// Removes what was written, unless finish() came before.
  ~TokenFileWriter();
  TokenFileWriter(TokenFileWriter&&) noexcept;
  TokenFileWriter& operator=(TokenFileWriter&&) = delete;

  /// Adds one document, which may be empty. Throws UsageError for a token beyond the vocabulary,
  /// and then has added nothing; IoError if the disk is full.
  void add_document(std::span<const std::int64_t> tokens);
  /// Writes the header, waits until the disk has everything, and moves the file to its place.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::data
