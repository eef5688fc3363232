#include "lane.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <chrono>

namespace sheaf::comm {
namespace {

// Together they bound how late a task may start that nobody waits for: one doze after the last
// blocking calls, which are forgotten after all looks.
constexpr std::chrono::microseconds kDoze{500};
constexpr int kLooks = 20;
// How long a task that has just been submitted is left to who may wait for it.
constexpr std::chrono::microseconds kCourtesy{50};

}  // namespace

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Lane::Task> Lane::submit(std::function<void()> body) {
  auto task = std::make_shared<Task>(std::move(body));
  bool dozing = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(task);
    dozing = looks_left_ > 0;
    if (dozing) looks_left_ = kLooks;
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  if (!dozing) submitted_.notify_one();
  return task;
}

void Lane::wait(Task& task) {
  std::unique_lock lock(mutex_);
  while (!task.done_) {
    if (running_) {
      finished_.wait(lock);
    } else {
      run_next(lock);
    }
  }
  if (task.error_) std::rethrow_exception(task.error_);
}

bool Lane::done(const Task& task) {
  const std::lock_guard lock(mutex_);
  return task.done_;
}

bool Lane::busy() {
  const std::lock_guard lock(mutex_);
  return running_ || !queue_.empty();
}

void Lane::work() {
  pthread_setname_np(pthread_self(), "sheaf-comm");
  at::init_num_threads();
  std::unique_lock lock(mutex_);
  while (!stopping_ || running_ || !queue_.empty()) {
    if (running_ || queue_.empty()) {
      sleep(lock);
    } else {
      looks_left_ = 0;
      std::fesetenv(&queue_.front()->arithmetic_);
      run_next(lock);
    }
  }
}

/// See Note [Dozing].
void Lane::sleep(std::unique_lock<std::mutex>& lock) {
  if (looks_left_ > 0) {
    --looks_left_;
    submitted_.wait_for(lock, kDoze);
    return;
  }
  submitted_.wait(lock);
  // Who submitted the task may be about to wait for it, and then it runs better there: a thread
  // that was just woken often lands on the core of another rank.
  if (!stopping_) submitted_.wait_for(lock, kCourtesy);
  if (running_ || queue_.empty()) looks_left_ = kLooks;
}

void Lane::run_next(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Task> task = queue_.front();
  queue_.pop_front();
  running_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    const at::NoGradGuard no_grad;
    // Who watches operators for the tensors they take would wait for the very task that runs them.
    const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
    task->body_();
  } catch (...) {
    error = std::current_exception();
  }
  task->body_ = nullptr;  // lets go of the tensors
  lock.lock();
  running_ = false;
  task->error_ = error;
  task->done_ = true;
  finished_.notify_all();
  if (!queue_.empty() || stopping_) submitted_.notify_one();
}

}  // namespace sheaf::comm
