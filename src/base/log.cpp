#include "sheaf/base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace sheaf::log {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error", "off"};

Level level_from_environment() {
  const char* wanted = std::getenv("SHEAF_LOG");
  for (std::size_t i = 0; wanted != nullptr && i < kNames.size(); ++i) {
    if (kNames[i] == wanted) return static_cast<Level>(i);
  }
  return Level::info;
}

std::atomic<Level> current_level{level_from_environment()};
std::atomic<int> process_rank{-1};
thread_local int thread_rank = -1;

}  // namespace

void set_level(Level level) { current_level = level; }

Level level() { return current_level; }

void set_process_rank(int rank) { process_rank = rank; }

ThreadRank::ThreadRank(int rank) : previous_(thread_rank) { thread_rank = rank; }

ThreadRank::~ThreadRank() { thread_rank = previous_; }

void write(Level level, std::string_view area, std::string_view text) {
  if (level < current_level || level == Level::off) return;
  const int rank = thread_rank >= 0 ? thread_rank : process_rank.load();
  std::string line;
  if (rank >= 0) line.append("[").append(std::to_string(rank)).append("] ");
  line.append(kNames[static_cast<std::size_t>(level)]).append(" ").append(area).append(": ");
  line.append(text).append("\n");
  // One system call per line, so that lines of several threads and processes do not mix.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sheaf::log
