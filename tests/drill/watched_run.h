#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/file_descriptor.h"

namespace sheaf::drill {

/// Something that a run was seen to do.
struct Event {
  enum class Kind {
    /// The launcher or a rank wrote a line to stderr: `text`.
    line,
    /// Ranks have met, and the first step follows `step`.
    start,
    /// A step is done: `step`.
    step,
    /// A save has begun, or has a new file.
    save,
    /// The launcher has ended.
    end,
  };

  Kind kind = Kind::line;
  std::string text{};
  std::int64_t step = 0;
};

/// Returns the processes that a launcher has started as ranks, by rank.
[[nodiscard]] std::map<int, pid_t> ranks_of(pid_t launcher);

/// A run as a process, and what can be seen of it from outside: its stderr, metrics.jsonl in
/// `folder`/log, checkpoints in `folder`/saved. It can be started again when it has ended.
class WatchedRun {
 public:
  WatchedRun(std::vector<std::string> command, std::string folder);
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  void start();
  /// Waits for the next event. Throws Error after two minutes without one.
  [[nodiscard]] Event next();
  [[nodiscard]] pid_t launcher() const { return pid_; }
  /// The launcher's exit code, 128+n if signal n ended it; after Event::end.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  /// All that was written to stderr.
  [[nodiscard]] const std::string& all_lines() const { return all_lines_; }

 private:
  void read_stderr();
  void read_metrics();
  void read_changes();
  void note_exit();

  std::vector<std::string> command_;
  std::string folder_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
  launch::FileDescriptor exit_;
  launch::FileDescriptor stderr_;
  launch::FileDescriptor changes_;
  int saved_watch_ = -1;
  std::string open_line_;
  std::string all_lines_;
  std::size_t metrics_read_ = 0;
  std::deque<Event> events_;
};

}  // namespace sheaf::drill
