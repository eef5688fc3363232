#include "data/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/durable.h"
#include "sheaf/base/error.h"

namespace sheaf::data {

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  // Two writers of one path, or what a killed one left behind, must not meet.
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.unfinished", path_, ::getpid(), attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && (errno != EEXIST || attempt > 1000)) refuse("write");
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void UnfinishedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto size = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) refuse("write");
    bytes = bytes.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
}

void UnfinishedFile::finish() {
  if (::fsync(fd_) != 0) refuse("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse("move to its place");
  ::close(std::exchange(fd_, -1));
  keep_folder_of(path_);
}

void UnfinishedFile::refuse(const char* what) const {
  throw IoError(fmt::format("cannot {} a file ({}): {}", what, std::strerror(errno), path_));
}

}  // namespace sheaf::data
