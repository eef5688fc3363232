#include "sheaf/checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/durable.h"
#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/safetensors_header.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

// Converted and written at a time.
constexpr std::int64_t kPieceBytes = 4 << 20;

}  // namespace

SafetensorsPlan::SafetensorsPlan(std::vector<TensorSpec> tensors, const Metadata& metadata) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return dtype_size(a.dtype) > dtype_size(b.dtype);
  });
  std::uint64_t end = 0;
  for (TensorSpec& tensor : tensors) {
    if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
      throw UsageError(fmt::format("a safetensors file cannot hold two tensors named {}",
                                   in_quotes(tensor.name)));
    }
    const auto size = static_cast<std::uint64_t>(tensor.numel() * dtype_size(tensor.dtype));
    tensors_.push_back({.tensor = std::move(tensor), .begin = end, .size = size});
    end += size;
  }
  header_ = format_header(tensors_, metadata);
  for (TensorEntry& entry : tensors_) entry.begin += header_.size();
  size_ = header_.size() + end;
}

const TensorEntry* SafetensorsPlan::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

SafetensorsWriter::SafetensorsWriter(std::string path, SafetensorsPlan plan, WriterRole role)
    : path_(std::move(path)),
      temporary_(path_ + ".unfinished"),
      plan_(std::move(plan)),
      role_(role) {
  const bool makes = role_ == WriterRole::first;
  // What a killed writer left goes; whatever else has the name, such as a link, is not written to.
  if (makes) ::unlink(temporary_.c_str());
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (makes ? O_CREAT | O_EXCL : 0);
  fd_ = ::open(temporary_.c_str(), flags, 0666);
  if (fd_ < 0) refuse("write");
  if (!makes) return;
  try {
    if (::ftruncate(fd_, static_cast<off_t>(plan_.size())) != 0) refuse("write");
    write_bytes(0, plan_.header().data(), plan_.header().size());
  } catch (...) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (role_ == WriterRole::first) ::unlink(temporary_.c_str());
}

void SafetensorsWriter::write(std::string_view name, std::int64_t begin, const at::Tensor& values) {
  const TensorEntry* entry = plan_.find(name);
  const std::int64_t numel = entry == nullptr ? 0 : entry->tensor.numel();
  if (entry == nullptr || begin < 0 || begin > numel || values.numel() > numel - begin) {
    throw UsageError(fmt::format("{} has {} elements in {}, to be written were {} from {} on",
                                 in_quotes(name),
                                 numel,
                                 path_,
                                 values.numel(),
                                 begin));
  }
  const at::Tensor flat = values.detach().flatten();
  const std::int64_t width = dtype_size(entry->tensor.dtype);
  for (std::int64_t done = 0; done < flat.numel(); done += kPieceBytes / width) {
    const std::int64_t size = std::min(kPieceBytes / width, flat.numel() - done);
    const at::Tensor piece =
        flat.narrow(0, done, size).to(at::kCPU, entry->tensor.dtype).contiguous();
    const auto offset = entry->begin + static_cast<std::uint64_t>((begin + done) * width);
    write_bytes(offset, piece.const_data_ptr(), piece.nbytes());
    written_ += piece.nbytes();
  }
}

void SafetensorsWriter::finish() {
  if (::fsync(fd_) != 0) refuse("write");
  if (role_ == WriterRole::first && ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    refuse("move to its place");
  }
  ::close(std::exchange(fd_, -1));
  if (role_ == WriterRole::first) keep_folder_of(path_);
}

void SafetensorsWriter::write_bytes(std::uint64_t offset, const void* bytes, std::uint64_t size) {
  const char* begin = static_cast<const char*>(bytes);
  while (size > 0) {
    const auto done = ::pwrite(fd_, begin, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse("write");
    begin += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::uint64_t>(done);
  }
}

void SafetensorsWriter::refuse(const char* what) const {
  throw IoError(fmt::format("cannot {} a file ({}): {}", what, std::strerror(errno), path_));
}

}  // namespace sheaf::checkpoint
