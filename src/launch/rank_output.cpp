#include "launch/rank_output.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;

// Returns 0, or the error number of what failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno != EINTR) return errno;
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

}  // namespace

void Terminal::add_to(std::vector<pollfd>& entries) const {
  for (const auto* stream : {&out, &err}) {
    if (stream->is_empty()) continue;
    entries.push_back({.fd = stream->fd(), .events = POLLOUT, .revents = 0});
  }
}

RankLog open_rank_log(const std::string& folder, int rank) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw UsageError("cannot create the log folder (" + error.message() + "): " + folder);
  }
  const auto path = std::filesystem::path(folder) / ("rank_" + std::to_string(rank) + ".log");
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open()) {
    throw UsageError(std::string("cannot write a log file (") + std::strerror(errno) +
                     "): " + path.string());
  }
  return {path.string(), std::move(file)};
}

RankOutput::RankOutput(std::string prefix, RankLog log, Terminal& terminal)
    : log_(std::move(log)),
      streams_{Stream{FileDescriptor(), LinePrefixer(prefix), terminal.out},
               Stream{FileDescriptor(), LinePrefixer(prefix), terminal.err}} {}

void RankOutput::attach(FileDescriptor out, FileDescriptor err) {
  streams_[0].pipe = std::move(out);
  streams_[1].pipe = std::move(err);
}

void RankOutput::add_to(std::vector<pollfd>& entries) const {
  for (const auto& stream : streams_) {
    if (stream.pipe.is_open() && !stream.target.is_full()) {
      entries.push_back({.fd = stream.pipe.get(), .events = POLLIN, .revents = 0});
    }
  }
}

void RankOutput::read() {
  for (auto& stream : streams_) {
    if (stream.pipe.is_open() && !stream.target.is_full()) read_some(stream);
  }
}

void RankOutput::drain() {
  for (auto& stream : streams_) {
    // No more than the pipe could hold: a process that outlived the rank may go on writing for
    // ever.
    const int held = stream.pipe.is_open() ? ::fcntl(stream.pipe.get(), F_GETPIPE_SZ) : 0;
    auto left = static_cast<std::size_t>(std::max(held, 0));
    while (stream.pipe.is_open() && left > 0) {
      const auto size = read_some(stream);
      if (size == 0) break;
      left -= std::min(left, size);
    }
    if (stream.pipe.is_open()) finish(stream);
  }
}

bool RankOutput::is_flowing() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.pipe.is_open() && !stream.target.is_full();
  });
}

std::size_t RankOutput::read_some(Stream& stream) {
  std::array<char, kReadSize> buffer;
  const auto size = ::read(stream.pipe.get(), buffer.data(), buffer.size());
  if (size > 0) {
    Lines lines;
    stream.lines.feed({buffer.data(), static_cast<std::size_t>(size)}, lines);
    pass_on(lines, stream.target);
    return static_cast<std::size_t>(size);
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) finish(stream);
  return 0;
}

void RankOutput::finish(Stream& stream) {
  Lines lines;
  stream.lines.finish(lines);
  pass_on(lines, stream.target);
  stream.pipe.close();
}

void RankOutput::pass_on(const Lines& lines, OutputStream& target) {
  target.append(lines.prefixed);
  if (!log_.file.is_open()) return;
  const int error = write_all(log_.file.get(), lines.plain);
  if (error == 0) return;
  log_.file.close();
  log::warning("launch",
               std::string("log file given up (") + std::strerror(error) + "): " + log_.path);
}

}  // namespace sheaf::launch
