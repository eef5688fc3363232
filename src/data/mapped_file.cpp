#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

int open_for_reading(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return fd;
  const int reason = errno;
  if (reason == ENOENT || reason == ENOTDIR) throw UsageError("there is no file " + path);
  throw IoError(fmt::format("cannot open a file ({}): {}", std::strerror(reason), path));
}

std::size_t size_of(int fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) {
    throw IoError(fmt::format("cannot read a file ({}): {}", std::strerror(errno), path));
  }
  if (S_ISDIR(status.st_mode)) throw UsageError("expected a file, got a folder: " + path);
  if (!S_ISREG(status.st_mode)) throw UsageError("expected a file on a disk, got " + path);
  return static_cast<std::size_t>(status.st_size);
}

std::span<const std::byte> map(int fd, const std::string& path) {
  const std::size_t size = size_of(fd, path);
  if (size == 0) return {};
  void* begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (begin == MAP_FAILED) {
    throw IoError(fmt::format("cannot map a file ({}): {}", std::strerror(errno), path));
  }
  return {static_cast<const std::byte*>(begin), size};
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int fd = open_for_reading(path);
  try {
    bytes_ = map(fd, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  // munmap takes a pointer to what may change, although nothing in this mapping could.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin >= end) return;
  // Only a wish: nothing is lost where the system does not grant it.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace sheaf::data
