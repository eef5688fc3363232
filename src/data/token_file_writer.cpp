#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/checksum.h"
#include "data/token_file_header.h"
#include "data/unfinished_file.h"
#include "sheaf/base/error.h"
#include "sheaf/data/token_file.h"

namespace sheaf::data {
namespace {

constexpr std::int64_t kLargestVocabulary = std::int64_t{1} << 32;
constexpr std::int64_t kShortVocabulary = std::int64_t{1} << 16;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

TokenFileHeader header_from(const TokenFileOptions& options) {
  if (options.vocabulary < 1 || options.vocabulary > kLargestVocabulary) {
    throw UsageError(fmt::format("the vocabulary of a token file must be between 1 and {}, got {}",
                                 kLargestVocabulary,
                                 options.vocabulary));
  }
  return {.bytes_per_token = options.vocabulary <= kShortVocabulary ? 2U : 4U,
          .vocabulary = static_cast<std::uint64_t>(options.vocabulary),
          .tokenizer_hash = options.tokenizer_hash};
}

}  // namespace

struct TokenFileWriter::Impl {
  Impl(const std::string& path, const TokenFileOptions& options)
      : header(header_from(options)), file(path) {
    buffer.reserve(kBufferBytes);
  }

  void add(std::span<const std::byte> bytes) {
    if (buffer.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() > kBufferBytes) return put(bytes);
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
  }

  void flush() {
    put(buffer);
    buffer.clear();
  }

  void put(std::span<const std::byte> bytes) {
    file.write(written, bytes);
    checksum.add(bytes);
    written += bytes.size();
  }

  template <class Stored>
  void add_tokens(std::span<const std::int64_t> tokens) {
    narrow.resize(tokens.size() * sizeof(Stored));
    auto* to = reinterpret_cast<Stored*>(narrow.data());
    std::transform(tokens.begin(), tokens.end(), to, [](std::int64_t token) {
      return static_cast<Stored>(token);
    });
    add(narrow);
  }

  void require_open() const {
    if (finished) throw UsageError("a token file takes nothing more after finish()");
  }

  TokenFileHeader header;
  UnfinishedFile file;
  Checksum checksum;
  std::uint64_t written = sizeof(TokenFileHeader);
  std::vector<std::byte> buffer;
  std::vector<std::byte> narrow;
  std::vector<std::uint64_t> starts;
  bool finished = false;
};

TokenFileWriter::TokenFileWriter(const std::string& path, const TokenFileOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
TokenFileWriter::~TokenFileWriter() = default;
TokenFileWriter::TokenFileWriter(TokenFileWriter&&) noexcept = default;

void TokenFileWriter::add_document(std::span<const std::int64_t> tokens) {
  impl_->require_open();
  TokenFileHeader& header = impl_->header;
  for (const std::int64_t token : tokens) {
    if (token < 0 || static_cast<std::uint64_t>(token) >= header.vocabulary) {
      throw UsageError(fmt::format(
          "a token must be from 0 to {} of the vocabulary, got {}", header.vocabulary - 1, token));
    }
  }
  if (header.bytes_per_token == 2) {
    impl_->add_tokens<std::uint16_t>(tokens);
  } else {
    impl_->add_tokens<std::uint32_t>(tokens);
  }
  impl_->starts.push_back(header.tokens);
  header.tokens += tokens.size();
}

void TokenFileWriter::finish() {
  impl_->require_open();
  TokenFileHeader& header = impl_->header;
  constexpr std::array<std::byte, 8> kZeros{};
  impl_->add(std::span(kZeros).first(padding_after(header.tokens * header.bytes_per_token)));
  impl_->add(std::as_bytes(std::span(impl_->starts)));
  impl_->flush();
  header.documents = impl_->starts.size();
  header.checksum = header.checksum_with(impl_->checksum.value());
  impl_->file.write(0, std::as_bytes(std::span(&header, 1)));
  impl_->file.finish();
  impl_->finished = true;
}

}  // namespace sheaf::data
