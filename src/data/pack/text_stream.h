#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sheaf::data {

/// The text of one file, from its beginning to its end.
class TextStream {
 public:
  virtual ~TextStream() = default;

  /// Fills `output`, or what is left; returns how many bytes that are, 0 at the end. Throws
  /// UsageError if the file is damaged.
  [[nodiscard]] virtual std::size_t read(std::span<char> output) = 0;
  /// Returns how many bytes of the file have been read, packed ones where it is packed.
  [[nodiscard]] virtual std::uint64_t bytes_read() const = 0;
};

/// Opens a file; one of gzip or zstd, told by its first bytes, is unpacked on the way. Throws
/// UsageError if there is none.
[[nodiscard]] std::unique_ptr<TextStream> open_text_stream(const std::string& path);

}  // namespace sheaf::data
