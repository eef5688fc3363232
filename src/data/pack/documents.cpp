#include "data/pack/documents.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

using nlohmann::json;

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

bool is_jsonl_name(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  }
  return path.ends_with(".jsonl") || path.ends_with(".ndjson");
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

DocumentReader::DocumentReader(DocumentOptions options) : options_(std::move(options)) {
  if (options_.paths.empty()) throw UsageError("there are no files to read");
  for (const std::string& path : options_.paths) {
    // Opened here once, so that a wrong name is known before hours of work.
    (void)open_text_stream(path);
    bytes_ += std::filesystem::file_size(path);
  }
}

bool DocumentReader::open_next_file() {
  if (stream_) bytes_of_closed_files_ += stream_->bytes_read();
  stream_.reset();
  if (files_opened_ == options_.paths.size()) return false;
  const std::string& path = options_.paths[files_opened_++];
  stream_ = open_text_stream(path);
  is_jsonl_ = is_jsonl_name(path);
  line_ = 0;
  buffer_.clear();
  done_ = 0;
  return true;
}

std::uint64_t DocumentReader::bytes_read() const {
  return bytes_of_closed_files_ + (stream_ ? stream_->bytes_read() : 0);
}

std::string_view DocumentReader::unread() const { return std::string_view(buffer_).substr(done_); }

bool DocumentReader::read_more() {
  buffer_.erase(0, done_);
  done_ = 0;
  const std::size_t before = buffer_.size();
  if (before > options_.largest) {
    refuse({.line = is_jsonl_ ? line_ + 1 : 0, .file = files_opened_ - 1},
           fmt::format("a document has more than {} bytes: is --separator '{}' what is between "
                       "documents?",
                       options_.largest,
                       options_.separator));
  }
  buffer_.resize(before + kReadBytes);
  buffer_.resize(before + stream_->read(std::span(buffer_).subspan(before)));
  return buffer_.size() > before;
}

RawDocument DocumentReader::take(std::size_t size, std::size_t and_skip) {
  RawDocument document{.text = std::string(unread().substr(0, size)),
                       .line = is_jsonl_ ? ++line_ : 0,
                       .file = files_opened_ - 1};
  done_ += size + and_skip;
  return document;
}

std::optional<RawDocument> DocumentReader::next_of_file() {
  const std::string_view separator = is_jsonl_ ? "\n" : std::string_view(options_.separator);
  std::size_t searched = 0;
  while (true) {
    const auto at = separator.empty() ? std::string_view::npos : unread().find(separator, searched);
    if (at != std::string_view::npos) return take(at, separator.size());
    // The end of what was read may be the beginning of a separator.
    searched = unread().size() - std::min(unread().size(), separator.size());
    if (!read_more()) break;
  }
  if (unread().empty()) return std::nullopt;
  return take(unread().size(), 0);
}

std::optional<RawDocument> DocumentReader::next() {
  if (!stream_ && !open_next_file()) return std::nullopt;
  while (true) {
    auto document = next_of_file();
    if (document && !is_blank(document->text)) return document;
    if (!document && !open_next_file()) return std::nullopt;
  }
}

void DocumentReader::refuse(const RawDocument& document, const std::string& what) const {
  const std::string& path = options_.paths[document.file];
  throw UsageError(document.line == 0 ? fmt::format("{}: {}", path, what)
                                      : fmt::format("{}, line {}: {}", path, document.line, what));
}

std::string DocumentReader::text_of(RawDocument document) const {
  if (document.line == 0) return std::move(document.text);
  const json object = json::parse(document.text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) refuse(document, "this is no JSON object: " + in_quotes(document.text));
  const auto found = object.find(options_.field);
  if (found == object.end() || !found->is_string()) {
    refuse(document,
           fmt::format("the object has no text '{}': name another with --field", options_.field));
  }
  return found->get<std::string>();
}

}  // namespace sheaf::data
