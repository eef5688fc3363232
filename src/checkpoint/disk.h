#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sheaf::checkpoint {

/// A file that is open for writing and reading.
class File {
 public:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

/// All that saving does to a file system, one call each, so that tests can put a disk in its place
/// that is full, fails, or stops at a moment of their choice. Several threads may use it.
/// Everything throws IoError with the path and the system's reason.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual void make_folder(const std::string& path);
  /// Makes a file of `size` bytes, which are zero.
  [[nodiscard]] virtual File create(const std::string& path, std::uint64_t size);
  /// Opens one that somebody else has made.
  [[nodiscard]] virtual File open(const std::string& path);
  virtual void write(const File& file, std::uint64_t offset, std::span<const std::byte> bytes);
  virtual void read(const File& file, std::uint64_t offset, std::span<std::byte> bytes);
  /// Returns when the file's bytes would survive a loss of power.
  virtual void sync(const File& file);
  /// The same for the names in a folder.
  virtual void sync_folder(const std::string& path);
  virtual void rename(const std::string& from, const std::string& to);
  /// Makes a symbolic link.
  virtual void link(const std::string& target, const std::string& path);
  /// Removes a file, a link, or a folder with all that is in it; fine if there is none.
  virtual void remove(const std::string& path);
};

/// Makes a folder and those around it that are not there, so that all of them survive a loss of
/// power.
void make_folders(const std::string& path, Disk& disk);

}  // namespace sheaf::checkpoint
