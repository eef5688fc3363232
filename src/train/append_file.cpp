#include "train/append_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw IoError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  }
}

off_t size_of(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 ? found.st_size : 0;
}

// Returns 0 or the error that stopped it.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Returns how many bytes there are up to and with the last newline, looking from the end.
off_t end_of_last_line(int descriptor) {
  std::array<char, 4096> block{};
  off_t end = size_of(descriptor);
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const auto wanted = static_cast<std::size_t>(end - begin);
    if (::pread(descriptor, block.data(), wanted, begin) != static_cast<ssize_t>(wanted)) break;
    const auto newline = std::string_view(block.data(), wanted).rfind('\n');
    if (newline != std::string_view::npos) return begin + static_cast<off_t>(newline) + 1;
    end = begin;
  }
  return end;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  make_folder(path_.parent_path());
  constexpr mode_t kMode = 0666;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor_ < 0) fail("open", errno);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::write(std::string_view record) {
  const off_t before = size_of(descriptor_);
  const int error = write_all(descriptor_, record);
  if (error == 0) return;
  // A full disk may have taken a part of it. What fails here was not there to be cut.
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, before);
  fail("write to", error);
}

void AppendFile::drop_open_line() {
  const off_t whole = end_of_last_line(descriptor_);
  if (whole < size_of(descriptor_) && ::ftruncate(descriptor_, whole) != 0) fail("write to", errno);
}

void AppendFile::fail(std::string_view verb, int error) const {
  throw IoError(fmt::format("cannot {} {}: {}", verb, path_.string(), std::strerror(error)));
}

}  // namespace sheaf::train
