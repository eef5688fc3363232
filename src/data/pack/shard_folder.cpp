#include "data/pack/shard_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/place_of.h"
#include "sheaf/base/error.h"
#include "sheaf/data/token_files.h"

namespace sheaf::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::error_code& error) {
  throw IoError(fmt::format("cannot make a folder ({}): {}", error.message(), path));
}

void require_free(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fs::is_directory(path, error) && fs::is_empty(path, error)) return;
  throw UsageError("there is something already, remove it or choose another name: " + path);
}

}  // namespace

ShardFolder::ShardFolder(const std::string& path,
                         const TokenFileOptions& options,
                         std::int64_t shard_tokens)
    : path_(place_of(path).string()),
      temporary_(fmt::format("{}.{}.unfinished", path_, ::getpid())),
      options_(options),
      shard_tokens_(shard_tokens) {
  require_free(path_);
  std::error_code error;
  fs::remove_all(temporary_, error);
  if (!fs::create_directories(temporary_, error)) refuse(temporary_, error);
}

ShardFolder::~ShardFolder() {
  if (finished_) return;
  writer_.reset();
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void ShardFolder::add_document(std::span<const std::int64_t> tokens) {
  const auto size = static_cast<std::int64_t>(tokens.size());
  if (writer_ && tokens_in_shard_ > 0 && tokens_in_shard_ + size > shard_tokens_) finish_shard();
  if (!writer_) {
    shards_.push_back(fmt::format("{}/{}.tok", temporary_, shards_.size()));
    writer_ = std::make_unique<TokenFileWriter>(shards_.back(), options_);
  }
  writer_->add_document(tokens);
  tokens_in_shard_ += size;
}

void ShardFolder::finish_shard() {
  writer_->finish();
  writer_.reset();
  tokens_in_shard_ = 0;
}

std::int64_t ShardFolder::finish() {
  if (writer_) finish_shard();
  const auto count = static_cast<std::int64_t>(shards_.size());
  std::error_code error;
  for (std::int64_t i = 0; i < count && !error; ++i) {
    fs::rename(
        shards_[static_cast<std::size_t>(i)], fs::path(temporary_) / shard_name(i, count), error);
  }
  if (!error) fs::rename(temporary_, path_, error);
  if (error) refuse(path_, error);
  finished_ = true;
  return count;
}

}  // namespace sheaf::data
