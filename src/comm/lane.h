#pragma once

#include <cfenv>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace sheaf::comm {

/// Runs blocking tasks one after the other, in the order they were submitted: on its own thread,
/// which sleeps when there is nothing to do, or on the thread that waits for one of them. On its
/// own, numbers are rounded and denormals flushed as where the task was submitted.
///
/// Note [Dozing]: waking another thread costs tens of microseconds where cores are busy, and is for
/// nothing when the caller waits at once and runs the task itself. So when the lane's thread finds
/// that it was woken for nothing, it dozes: for some milliseconds it looks by itself now and then,
/// and submit() does not wake it. As soon as it gets a task to run it is woken at once again.
class Lane {
 public:
  class Task;

  Lane() = default;
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::shared_ptr<Task> submit(std::function<void()> body);
  /// Blocks until `task` has run; rethrows what it threw.
  void wait(Task& task);
  [[nodiscard]] bool done(const Task& task);
  /// Tells whether something is running or queued.
  [[nodiscard]] bool busy();

 private:
  void work();
  void sleep(std::unique_lock<std::mutex>& lock);
  void run_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  /// What the lane's thread, and what waiting callers sleep on.
  std::condition_variable submitted_;
  std::condition_variable finished_;
  std::deque<std::shared_ptr<Task>> queue_;
  bool running_ = false;
  bool stopping_ = false;
  /// How often the lane's thread will still look before it sleeps for good.
  int looks_left_ = 0;
  std::thread thread_;
};

class Lane::Task {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {
    std::fegetenv(&arithmetic_);
  }

 private:
  friend class Lane;
  std::function<void()> body_;
  /// The submitting thread's; that of the lane may have been started before it was chosen.
  std::fenv_t arithmetic_{};
  std::exception_ptr error_;
  bool done_ = false;
};

}  // namespace sheaf::comm
