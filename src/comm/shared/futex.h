#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace sheaf::comm::shared {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(FutexWord::is_always_lock_free && sizeof(FutexWord) == sizeof(std::uint32_t));

/// Sleeps while `word` holds `seen`, at most `limit`. May return early: look at the word again.
/// std::atomic::wait is no help here: it works within one process only and has no limit.
inline void futex_wait(FutexWord& word, std::uint32_t seen, std::chrono::nanoseconds limit) {
  const timespec time{.tv_sec = static_cast<time_t>(limit.count() / 1'000'000'000),
                      .tv_nsec = static_cast<long>(limit.count() % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

inline void futex_wake_all(FutexWord& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sheaf::comm::shared
