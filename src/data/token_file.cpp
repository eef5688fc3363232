#include "sheaf/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/mapped_file.h"
#include "data/token_file_header.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

constexpr std::uint64_t kHeaderBytes = sizeof(TokenFileHeader);
// Far beyond any disk, and small enough that sums of two of them do not overflow.
constexpr std::uint64_t kMostItems = std::uint64_t{1} << 56;

TokenFileHeader header_of(std::span<const std::byte> bytes, const std::string& path) {
  TokenFileHeader header;
  if (bytes.size() < kHeaderBytes) {
    throw UsageError(
        fmt::format("a token file is too short, expected at least {} bytes, got {}: {}",
                    kHeaderBytes,
                    bytes.size(),
                    path));
  }
  std::memcpy(&header, bytes.data(), kHeaderBytes);
  if (header.magic != TokenFileHeader::kMagic) {
    throw UsageError("this is not a token file: " + path);
  }
  if (header.version > TokenFileHeader::kVersion) {
    throw UsageError(fmt::format(
        "a token file of version {} is too new for this program, which reads up to {}: {}",
        header.version,
        TokenFileHeader::kVersion,
        path));
  }
  return header;
}

void check_values(const TokenFileHeader& header, const std::string& path) {
  const auto damaged = [&](std::string_view what, std::uint64_t value) {
    throw UsageError(
        fmt::format("the header of a token file is damaged, {} {}: {}", what, value, path));
  };
  if (header.version == 0) damaged("version", header.version);
  if (header.bytes_per_token != 2 && header.bytes_per_token != 4) {
    damaged("bytes per token", header.bytes_per_token);
  }
  if (header.vocabulary < 1 || header.vocabulary > std::uint64_t{1} << 8 * header.bytes_per_token) {
    damaged("vocabulary", header.vocabulary);
  }
  if (header.tokens > kMostItems) damaged("number of tokens", header.tokens);
  if (header.documents > kMostItems) damaged("number of documents", header.documents);
}

void check_size(const TokenFileHeader& header, std::uint64_t actual, const std::string& path) {
  const std::uint64_t token_bytes = header.tokens * header.bytes_per_token;
  const std::uint64_t expected =
      kHeaderBytes + token_bytes + padding_after(token_bytes) + header.documents * 8;
  if (actual == expected) return;
  throw UsageError(fmt::format("a token file {}, expected {} bytes, got {}: {}",
                               actual < expected ? "is truncated" : "has more than its header says",
                               expected,
                               actual,
                               path));
}

/// Widens tokens. Returns the largest one.
template <class Stored>
std::int64_t copy_tokens(const std::byte* from, std::int64_t count, std::int64_t* out) {
  const auto* stored = reinterpret_cast<const Stored*>(from);
  Stored largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, stored[i]);
    out[i] = stored[i];
  }
  return largest;
}

}  // namespace

struct TokenFile::Impl {
  explicit Impl(const std::string& file_path) : path(file_path), file(file_path) {
    const auto header = header_of(file.bytes(), path);
    check_values(header, path);
    check_size(header, file.bytes().size(), path);
    info = {.bytes_per_token = header.bytes_per_token,
            .tokens = static_cast<std::int64_t>(header.tokens),
            .vocabulary = static_cast<std::int64_t>(header.vocabulary),
            .tokenizer_hash = header.tokenizer_hash,
            .documents = static_cast<std::int64_t>(header.documents),
            .checksum = header.checksum};
  }

  [[noreturn]] void refuse_token(std::int64_t begin, std::span<const std::int64_t> tokens) const {
    const auto wrong = std::find_if(
        tokens.begin(), tokens.end(), [&](std::int64_t token) { return token >= info.vocabulary; });
    throw UsageError(
        fmt::format("token {} of a token file is beyond its vocabulary of {}, got {}: {}",
                    begin + (wrong - tokens.begin()),
                    info.vocabulary,
                    *wrong,
                    path));
  }

  std::string path;
  MappedFile file;
  TokenFileInfo info;
};

TokenFile::TokenFile(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
TokenFile::~TokenFile() = default;
TokenFile::TokenFile(TokenFile&&) noexcept = default;

const TokenFileInfo& TokenFile::info() const { return impl_->info; }

void TokenFile::tokens(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  const TokenFileInfo& info = impl_->info;
  if (begin < 0 || count < 0 || begin > info.tokens || count > info.tokens - begin) {
    throw UsageError(fmt::format("a token file has {} tokens, but {} from {} on were asked for: {}",
                                 info.tokens,
                                 count,
                                 begin,
                                 impl_->path));
  }
  const std::byte* from =
      impl_->file.bytes().data() + kHeaderBytes + begin * std::int64_t{info.bytes_per_token};
  const std::int64_t largest = info.bytes_per_token == 2
                                   ? copy_tokens<std::uint16_t>(from, count, out)
                                   : copy_tokens<std::uint32_t>(from, count, out);
  if (largest >= info.vocabulary) {
    impl_->refuse_token(begin, {out, static_cast<std::size_t>(count)});
  }
}

std::span<const std::uint64_t> TokenFile::document_starts() const {
  const auto count = static_cast<std::size_t>(impl_->info.documents);
  const auto bytes = impl_->file.bytes().last(count * sizeof(std::uint64_t));
  return {reinterpret_cast<const std::uint64_t*>(bytes.data()), count};
}

void TokenFile::verify() const {
  const auto& [path, file, info] = *impl_;
  const auto header = header_of(file.bytes(), path);
  const auto payload = checksum_of(file.bytes().subspan(kHeaderBytes));
  if (const auto actual = header.checksum_with(payload); actual != info.checksum) {
    throw UsageError(
        fmt::format("a token file is damaged, expected the checksum {:016x}, got {:016x}: {}",
                    info.checksum,
                    actual,
                    path));
  }
  std::array<std::int64_t, 4096> some{};
  for (std::int64_t begin = 0; begin < info.tokens; begin += some.size()) {
    tokens(begin, std::min<std::int64_t>(some.size(), info.tokens - begin), some.data());
  }
  const auto starts = document_starts();
  const bool in_order = std::is_sorted(starts.begin(), starts.end());
  if (!in_order || (!starts.empty() && starts.back() > static_cast<std::uint64_t>(info.tokens))) {
    throw UsageError("the documents of a token file do not follow one another: " + path);
  }
}

}  // namespace sheaf::data
