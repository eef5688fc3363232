#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sheaf::data {

/// The bytes of a file, mapped into memory for reading.
class MappedFile {
 public:
  /// Throws UsageError if there is no such file or it is none, IoError if the system refuses.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace sheaf::data
