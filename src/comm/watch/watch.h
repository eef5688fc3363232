#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "../peers.h"
#include "board.h"
#include "far_pages.h"
#include "group_log.h"
#include "sheaf/comm/watch.h"

namespace sheaf::comm {

/// A thread of this rank that looks at the board now and then: whether a call waits for too long,
/// whether ranks of other hosts called something else, whether another rank has given up. When the
/// run cannot go on it writes the rank's report and ends the process, or lets go of the calls that
/// wait.
class Watch {
 public:
  struct Setting {
    std::shared_ptr<Board> board;
    std::shared_ptr<const Peers> peers;
    int rank = 0;
    WatchOptions options;
    /// For ranks of other hosts; null where there are none.
    std::unique_ptr<FarPages> far;
  };

  explicit Watch(Setting setting);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// A group that this rank is in, for as long as it lives there.
  struct Watched {
    const GroupLog* log = nullptr;
    /// Calls return before the exchange is over, so that only who has not begun can be missed.
    bool stream_ordered = false;
    /// Lets go of calls that wait.
    std::function<void()> let_go;
  };
  void add(const Watched& group);
  void remove(const GroupLog& log);

  [[nodiscard]] const WatchOptions& options() const { return setting_.options; }
  /// Where ranks disagree: does not return where the process is to be ended.
  void await_end() const;

 private:
  void work();
  void look();
  [[nodiscard]] std::optional<std::string> find_hang();
  [[nodiscard]] std::optional<std::string> judge(const CallRecord& call,
                                                 const Watched& group) const;
  [[nodiscard]] std::optional<std::string> find_disagreement();
  void conclude(const Verdict& verdict);
  void write_reports(const Verdict& verdict) const;
  void await_reports() const;
  [[nodiscard]] std::string describe_missing(const std::vector<int>& ranks) const;

  Setting setting_;
  std::mutex mutex_;
  std::map<std::uint64_t, Watched> groups_;
  /// When the next exchange with other hosts is due, and time that this process spent stopped.
  std::int64_t far_due_ = 0;
  std::int64_t last_look_ = 0;
  std::int64_t awake_since_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace sheaf::comm
