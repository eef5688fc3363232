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
  /// Gives back the memory of whole pages within bytes [begin, end), which are read from the file
  /// again if somebody looks at them.
  void release(std::size_t begin, std::size_t end) const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace sheaf::data
