#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/data/token_file.h"

namespace sheaf::data {

/// Returns the name of a shard, such as shard-00001-of-00003.tok for the second of three.
[[nodiscard]] std::string shard_name(std::int64_t index, std::int64_t count);

/// A token file, or a folder of them whose tokens follow one another in the order of their names.
/// Many threads may read at once.
class TokenFiles {
 public:
  /// Throws UsageError if there are none, a shard is missing, one is damaged, or they are of
  /// different tokenizers.
  explicit TokenFiles(const std::string& path);

  /// Returns what all of them have together; the checksum is that of the first.
  [[nodiscard]] const TokenFileInfo& info() const { return info_; }
  [[nodiscard]] const std::vector<TokenFile>& files() const { return files_; }
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// Writes tokens [begin, begin + count) to `out`. Throws UsageError if they are not all there.
  void tokens(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  /// Returns those of the tokens [begin, begin + count) that are the first of a document, in order.
  /// Throws UsageError if they are not all there, or a file's documents do not follow one another.
  [[nodiscard]] std::vector<std::int64_t> document_starts(std::int64_t begin,
                                                          std::int64_t count) const;

 private:
  void require(std::int64_t begin, std::int64_t count) const;
  /// Returns the file that has a token.
  [[nodiscard]] std::size_t file_of(std::int64_t token) const;

  std::vector<std::string> paths_;
  std::vector<TokenFile> files_;
  /// The number of each file's first token.
  std::vector<std::int64_t> starts_;
  TokenFileInfo info_;
};

}  // namespace sheaf::data
