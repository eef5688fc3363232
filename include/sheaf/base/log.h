#pragma once

#include <string_view>

namespace sheaf::log {

enum class Level { debug, info, warning, error, off };

/// Hides lines below `level`. The default is info, or what the variable SHEAF_LOG names.
void set_level(Level level);
[[nodiscard]] Level level();

/// Names this process's rank in every later line; -1 (the start) leaves the rank out.
void set_process_rank(int rank);

/// Names the rank of this thread while it lives: ranks that are threads share one process.
class ThreadRank {
 public:
  explicit ThreadRank(int rank);
  ~ThreadRank();
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;

 private:
  int previous_;
};

/// Writes one line to stderr: `[rank] level area: text`. Lines of several threads do not mix.
void write(Level level, std::string_view area, std::string_view text);

inline void debug(std::string_view area, std::string_view text) { write(Level::debug, area, text); }
inline void info(std::string_view area, std::string_view text) { write(Level::info, area, text); }
inline void warning(std::string_view area, std::string_view text) {
  write(Level::warning, area, text);
}
inline void error(std::string_view area, std::string_view text) { write(Level::error, area, text); }

}  // namespace sheaf::log
