#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sheaf/data/token_file.h"

namespace sheaf::data {

/// A folder of token files that is written beside its place and moved there when it is whole.
class ShardFolder {
 public:
  /// Throws UsageError if there is something under that name already, IoError if the system
  /// refuses.
  ShardFolder(const std::string& path, const TokenFileOptions& options, std::int64_t shard_tokens);
  /// Removes what was written, unless finish() came before.
  ~ShardFolder();
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  void add_document(std::span<const std::int64_t> tokens);
  /// Moves everything to its place; returns how many files there are.
  std::int64_t finish();

 private:
  void finish_shard();

  std::string path_;
  std::string temporary_;
  TokenFileOptions options_;
  std::int64_t shard_tokens_;
  std::vector<std::string> shards_;
  std::unique_ptr<TokenFileWriter> writer_;
  std::int64_t tokens_in_shard_ = 0;
  bool finished_ = false;
};

}  // namespace sheaf::data
