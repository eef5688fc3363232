#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sheaf::data {

/// A file that is written beside its place and moved there when it is whole. Throws IoError.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  /// Removes the file, unless finish() came before.
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// Writes all bytes at `offset`.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Waits until the disk has everything, then moves the file to its place.
  void finish();

 private:
  [[noreturn]] void refuse(const char* what) const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace sheaf::data
