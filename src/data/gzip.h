#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf::data {

/// Returns whether bytes begin as gzip files do.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// Unpacks a gzip file part by part. Throws UsageError, which names `path`, if it is damaged or
/// ends too early.
class GzipReader {
 public:
  /// `packed` is the whole file and must outlive this.
  GzipReader(std::span<const std::byte> packed, std::string path);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Fills `output`, or what is left of the file; returns how many bytes that are, 0 at its end.
  [[nodiscard]] std::size_t read(std::span<std::byte> output);
  /// Returns the packed bytes that are still to be read.
  [[nodiscard]] std::size_t left() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Unpacks a whole gzip file. Throws UsageError, which names `path`, if it is damaged, ends too
/// early, or unpacks to more than `limit` bytes.
[[nodiscard]] std::vector<std::byte> unpack_gzip(std::span<const std::byte> bytes,
                                                 std::size_t limit,
                                                 const std::string& path);

}  // namespace sheaf::data
