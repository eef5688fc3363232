#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sheaf {

/// The bytes of a file, mapped into memory for reading. Reading takes memory only until release().
class MappedFile {
 public:
  /// Throws UsageError if there is no such file or it is none, IoError if the system refuses.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Gives the memory back that reading this part took; it can be read again.
  void release(std::uint64_t begin, std::uint64_t size) const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace sheaf
