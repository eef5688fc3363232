#include "checkpoint/disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

[[noreturn]] void refuse(const char* what, const std::string& path, int reason) {
  throw IoError(fmt::format("cannot {} ({}): {}", what, std::strerror(reason), path));
}

int opened(const std::string& path, int flags, const char* what) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) refuse(what, path, errno);
  return fd;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

void Disk::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) refuse("make a folder", path, errno);
}

File Disk::create(const std::string& path, std::uint64_t size) {
  File file(opened(path, O_RDWR | O_CREAT | O_EXCL, "make a file"), path);
  if (::ftruncate(file.fd(), static_cast<off_t>(size)) != 0) refuse("make a file", path, errno);
  return file;
}

File Disk::open(const std::string& path) { return {opened(path, O_RDWR, "open a file"), path}; }

void Disk::write(const File& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto begin = static_cast<off_t>(offset);
  const auto size = static_cast<off_t>(bytes.size());
  while (!bytes.empty()) {
    const auto done = ::pwrite(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse("write a file", file.path(), done == 0 ? ENOSPC : errno);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  // The disk may begin at once; sync() is what waits and what counts.
  static_cast<void>(::sync_file_range(file.fd(), begin, size, SYNC_FILE_RANGE_WRITE));
}

void Disk::read(const File& file, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto done = ::pread(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse("read a file", file.path(), done == 0 ? EIO : errno);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void Disk::sync(const File& file) {
  if (::fsync(file.fd()) != 0) refuse("write a file to the disk", file.path(), errno);
}

void Disk::sync_folder(const std::string& path) {
  const File folder(opened(path, O_RDONLY | O_DIRECTORY, "open a folder"), path);
  if (::fsync(folder.fd()) != 0) refuse("write a folder to the disk", path, errno);
}

void Disk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) refuse("move to its place", to, errno);
}

void Disk::link(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) != 0) refuse("make a link", path, errno);
}

void Disk::remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) refuse("remove", path, error.value());
}

void make_folders(const std::string& path, Disk& disk) {
  const std::filesystem::path given(path);
  const std::filesystem::path folder = given.has_filename() ? given : given.parent_path();
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return;
  const std::filesystem::path parent = folder.parent_path();
  if (!parent.empty()) make_folders(parent, disk);
  try {
    disk.make_folder(folder);
  } catch (const IoError&) {
    // Another process may have made it meanwhile.
    if (!std::filesystem::is_directory(folder, ignored)) throw;
  }
  disk.sync_folder(parent.empty() ? "." : parent);
}

}  // namespace sheaf::checkpoint
