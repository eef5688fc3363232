#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sheaf::data {

/// Returns whether bytes begin as zstd files do.
[[nodiscard]] bool is_zstd(std::span<const std::byte> bytes);

/// Unpacks a zstd file part by part. Throws UsageError, which names `path`, if it is damaged or
/// ends too early.
class ZstdReader {
 public:
  /// `packed` is the whole file and must outlive this.
  ZstdReader(std::span<const std::byte> packed, std::string path);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  /// Fills `output`, or what is left of the file; returns how many bytes that are, 0 at its end.
  [[nodiscard]] std::size_t read(std::span<std::byte> output);
  /// Returns the packed bytes that are still to be read.
  [[nodiscard]] std::size_t left() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::data
