#include "segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sheaf/base/error.h"
#include "sheaf/base/units.h"

namespace sheaf::comm::shared {
namespace {

[[noreturn]] void refuse(std::string_view step, std::size_t bytes) {
  throw IoError(fmt::format("{} of {} of shared memory failed: {}",
                            step,
                            to_string(Bytes{static_cast<std::int64_t>(bytes)}),
                            std::strerror(errno)));
}

std::byte* map(int file, std::size_t bytes) {
  const int flags =
      file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (data == MAP_FAILED) refuse("mapping", bytes);
  return static_cast<std::byte*>(data);
}

}  // namespace

std::shared_ptr<Segment> Segment::create(Ranks ranks, std::size_t bytes) {
  std::shared_ptr<Segment> segment(new Segment(bytes));
  segment->self_ = segment;
  if (ranks == Ranks::processes) {
    segment->file_ = memfd_create("sheaf", MFD_CLOEXEC);
    if (segment->file_ < 0 || ftruncate(segment->file_, static_cast<off_t>(bytes)) != 0) {
      refuse("creation", bytes);
    }
  }
  segment->data_ = map(segment->file_, bytes);
  return segment;
}

std::shared_ptr<Segment> Segment::open(Ranks ranks, std::size_t bytes, const Ticket& ticket) {
  if (ranks == Ranks::threads) {
    // The creator holds its segment until every rank has opened it.
    return reinterpret_cast<std::weak_ptr<Segment>*>(ticket[0])->lock();
  }
  std::shared_ptr<Segment> segment(new Segment(bytes));
  const std::string path = fmt::format("/proc/{}/fd/{}", ticket[0], ticket[1]);
  segment->file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (segment->file_ < 0) refuse("opening", bytes);
  segment->data_ = map(segment->file_, bytes);
  segment->close_door();
  return segment;
}

Segment::~Segment() {
  close_door();
  if (data_ != nullptr) munmap(data_, bytes_);
}

Segment::Ticket Segment::ticket() const {
  if (file_ < 0) return {reinterpret_cast<std::int64_t>(&self_), 0};
  return {getpid(), file_};
}

void Segment::close_door() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

}  // namespace sheaf::comm::shared
