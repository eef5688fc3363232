#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace sheaf::comm {

/// Runs blocking tasks one after the other, in the order they were submitted: on its own thread,
/// which sleeps when there is nothing to do, or on the thread that waits for one of them. So a call
/// that is waited for at once costs no change of thread.
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
  void run_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> queue_;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

class Lane::Task {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {}

 private:
  friend class Lane;
  std::function<void()> body_;
  std::exception_ptr error_;
  bool done_ = false;
};

}  // namespace sheaf::comm
