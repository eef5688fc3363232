#include "sheaf/data/token_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".tok") paths.push_back(entry.path().string());
  }
  if (error) throw IoError(fmt::format("cannot read a folder ({}): {}", error.message(), folder));
  if (paths.empty()) throw UsageError("this folder has no token files (*.tok): " + folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The names say how many there are, so that a copy that lost one is noticed.
void require_all_shards(const std::vector<std::string>& paths) {
  const std::string first = fs::path(paths.front()).filename();
  const auto of = first.find("-of-");
  if (!first.starts_with("shard-") || of == std::string::npos) return;
  const std::string wanted = first.substr(of + 4, first.size() - of - 8);
  if (wanted.empty() || wanted.size() > 18 ||
      wanted.find_first_not_of("0123456789") != std::string::npos) {
    return;
  }
  const std::int64_t count = std::stoll(wanted);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto expected = fs::path(paths.front()).parent_path() / shard_name(i, count);
    if (static_cast<std::size_t>(i) < paths.size() &&
        fs::path(paths[static_cast<std::size_t>(i)]).filename() == expected.filename()) {
      continue;
    }
    throw UsageError("a token file is missing: " + expected.string());
  }
}

void require_same(const TokenFileInfo& first, const TokenFileInfo& other, const std::string& path) {
  if (first.vocabulary == other.vocabulary && first.tokenizer_hash == other.tokenizer_hash) return;
  throw UsageError("a token file is of another tokenizer than the first of its folder: " + path);
}

/// Returns the tokens of [begin, end) that begin a document of a file, each once: an empty document
/// begins where the next one does. The first token always does, as no document goes on in the next
/// file.
std::vector<std::int64_t> starts_between(const TokenFile& file,
                                         std::int64_t begin,
                                         std::int64_t end,
                                         const std::string& path) {
  std::vector<std::int64_t> starts;
  if (begin == 0 && end > 0) starts.push_back(0);
  const auto all = file.document_starts();
  const auto first = std::lower_bound(all.begin(), all.end(), static_cast<std::uint64_t>(begin));
  for (const std::uint64_t each : std::span(first, all.end())) {
    if (each >= static_cast<std::uint64_t>(end)) break;
    const auto start = static_cast<std::int64_t>(each);
    if (start < (starts.empty() ? begin : starts.back())) {
      throw UsageError("the documents of a token file do not follow one another: " + path);
    }
    if (starts.empty() || start > starts.back()) starts.push_back(start);
  }
  return starts;
}

}  // namespace

std::string shard_name(std::int64_t index, std::int64_t count) {
  return fmt::format("shard-{:05}-of-{:05}.tok", index, count);
}

TokenFiles::TokenFiles(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  paths_ = is_folder ? paths_in(path) : std::vector{path};
  if (is_folder) require_all_shards(paths_);
  for (const std::string& each : paths_) {
    const TokenFile& file = files_.emplace_back(each);
    require_same(files_.front().info(), file.info(), each);
    starts_.push_back(info_.tokens);
    info_.tokens += file.info().tokens;
    info_.documents += file.info().documents;
  }
  const TokenFileInfo& first = files_.front().info();
  info_.bytes_per_token = first.bytes_per_token;
  info_.vocabulary = first.vocabulary;
  info_.tokenizer_hash = first.tokenizer_hash;
  info_.checksum = first.checksum;
}

void TokenFiles::require(std::int64_t begin, std::int64_t count) const {
  if (begin >= 0 && count >= 0 && begin <= info_.tokens && count <= info_.tokens - begin) return;
  throw UsageError(fmt::format(
      "there are {} tokens, but {} from {} on were asked for", info_.tokens, count, begin));
}

std::size_t TokenFiles::file_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), token) -
                                  starts_.begin() - 1);
}

void TokenFiles::tokens(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  require(begin, count);
  std::size_t file = file_of(begin);
  while (count > 0) {
    const std::int64_t at = begin - starts_[file];
    const std::int64_t some = std::min(count, files_[file].info().tokens - at);
    files_[file].tokens(at, some, out);
    begin += some;
    count -= some;
    out += some;
    ++file;
  }
}

std::vector<std::int64_t> TokenFiles::document_starts(std::int64_t begin,
                                                      std::int64_t count) const {
  require(begin, count);
  std::vector<std::int64_t> starts;
  const std::int64_t end = begin + count;
  for (std::size_t file = file_of(begin); file < files_.size() && starts_[file] < end; ++file) {
    const std::int64_t from = std::max<std::int64_t>(begin - starts_[file], 0);
    const std::int64_t to = std::min(end - starts_[file], files_[file].info().tokens);
    for (const std::int64_t start : starts_between(files_[file], from, to, paths_[file])) {
      starts.push_back(starts_[file] + start);
    }
  }
  return starts;
}

}  // namespace sheaf::data
