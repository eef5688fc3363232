#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/holders.h"
#include "sheaf/memory/timeline.h"

namespace sheaf::memory {

/// What all CPU tensors take: in all, and by holder. Safe to use from many threads. The counts
/// guard no other memory, so relaxed order will do.
class Accounts {
 public:
  using Number = std::uint32_t;

  Accounts();

  /// Returns the account of a holder. When there are too many, one without an owner.
  [[nodiscard]] Number find_or_open(Purpose purpose, std::string_view owner);

  /// Throws OutOfMemory if there is a limit and no room below it.
  void require_room(std::int64_t bytes);
  /// Both return what is in use after it.
  std::int64_t add(Number account, std::int64_t bytes);
  std::int64_t remove(Number account, std::int64_t bytes) { return change(account, -bytes); }

  [[nodiscard]] CpuUsage usage() const;
  void reset_peak();
  void set_limit(std::int64_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  /// Several may pause the limit at the same time.
  void pause_limit() { pauses_.fetch_add(1, std::memory_order_relaxed); }
  void resume_limit() { pauses_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] std::vector<Holder> holders() const;

  void start_timeline();
  [[nodiscard]] Timeline stop_timeline();

 private:
  static constexpr std::size_t kMost = 8192;
  struct Name {
    Purpose purpose = Purpose::temporary;
    std::string owner;
  };

  std::int64_t change(Number account, std::int64_t bytes);
  void write_down(Number account, std::int64_t bytes);
  [[nodiscard]] std::vector<Holder> all_holders() const;

  std::atomic<std::int64_t> current_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
  std::atomic<std::int64_t> limit_ = 0;
  std::atomic<int> pauses_ = 0;
  std::array<std::atomic<std::int64_t>, kMost> bytes_{};

  mutable std::mutex names_mutex_;
  std::vector<Name> names_;
  std::map<std::pair<Purpose, std::string>, Number, std::less<>> numbers_;

  std::atomic<bool> recording_ = false;
  std::mutex timeline_mutex_;
  Timeline timeline_;
  std::chrono::steady_clock::time_point began_;
};

/// The process's. Never destroyed: tensors in static variables are freed after everything else.
[[nodiscard]] Accounts& accounts();

/// Returns the account that this thread makes tensors for.
[[nodiscard]] Accounts::Number current_account();

}  // namespace sheaf::memory
