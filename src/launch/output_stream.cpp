#include "launch/output_stream.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace sheaf::launch {
namespace {

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

OutputStream::OutputStream(int fd) : fd_(fd), is_file_(is_regular_file(fd)) {}

void OutputStream::append(std::string_view text) {
  if (state_ == State::open) pending_.append(text);
}

void OutputStream::flush() {
  while (!is_empty() && can_write()) {
    const auto chunk = next_chunk();
    const auto size = ::write(fd_, chunk.data(), chunk.size());
    if (size >= 0) {
      written_ += static_cast<std::size_t>(size);
    } else if (errno == EPIPE) {
      drop(State::broken);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      drop(State::failed);
    }
  }
  if (is_empty()) {
    pending_.clear();
    written_ = 0;
  }
}

bool OutputStream::can_write() const {
  pollfd entry{.fd = fd_, .events = POLLOUT, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

// A pipe that is ready takes PIPE_BUF bytes without blocking, and unmixed with other writers' text;
// so a chunk is at most that, and whole lines where they are not longer.
std::string_view OutputStream::next_chunk() const {
  auto chunk = std::string_view(pending_).substr(written_);
  if (is_file_ || chunk.size() <= PIPE_BUF) return chunk;
  chunk = chunk.substr(0, PIPE_BUF);
  const auto last_end = chunk.rfind('\n');
  return last_end == std::string_view::npos ? chunk : chunk.substr(0, last_end + 1);
}

void OutputStream::drop(State state) {
  state_ = state;
  pending_.clear();
  written_ = 0;
}

}  // namespace sheaf::launch
