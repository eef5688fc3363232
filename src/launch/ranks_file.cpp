#include "launch/ranks_file.h"

#include <sys/inotify.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

}  // namespace

RanksFile::RanksFile(const std::string& path, RanksLimits limits)
    : path_(path), limits_(limits), changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  // The folder, not the file: it may come later, and be replaced by another one.
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  if (!changes_.is_open() ||
      ::inotify_add_watch(changes_.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    throw UsageError(std::string("cannot watch the folder of --ranks-file (") +
                     std::strerror(errno) + "): " + path);
  }
}

bool RanksFile::was_written() {
  alignas(inotify_event) std::array<char, 4096> events;
  bool written = false;
  ssize_t size = 0;
  while ((size = ::read(changes_.get(), events.data(), events.size())) > 0) {
    for (const char* at = events.data(); at < events.data() + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      written = written || (event->len > 0 && path_.filename() == event->name);
      at += sizeof(inotify_event) + event->len;
    }
  }
  return written;
}

std::optional<int> RanksFile::take_change() {
  if (!was_written() && !std::exchange(is_first_, false)) return std::nullopt;
  const std::string text = first_word(path_);
  if (text.empty()) return std::nullopt;
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && ranks >= limits_.least && ranks <= limits_.most) return ranks;
  log::warning("launch",
               "--ranks-file is passed over, it must hold a number from " +
                   std::to_string(limits_.least) + " to " + std::to_string(limits_.most) +
                   ", not " + in_quotes(text) + ": " + path_.string());
  return std::nullopt;
}

}  // namespace sheaf::launch
