#include "lane.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <pthread.h>

namespace sheaf::comm {

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Lane::Task> Lane::submit(std::function<void()> body) {
  auto task = std::make_shared<Task>(std::move(body));
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(task);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  changed_.notify_one();
  return task;
}

void Lane::wait(Task& task) {
  std::unique_lock lock(mutex_);
  while (!task.done_) {
    if (running_) {
      changed_.wait(lock);
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
  while (true) {
    changed_.wait(lock, [this] { return (stopping_ || !queue_.empty()) && !running_; });
    if (queue_.empty()) return;
    run_next(lock);
  }
}

void Lane::run_next(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Task> task = queue_.front();
  queue_.pop_front();
  running_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    const at::NoGradGuard no_grad;
    task->body_();
  } catch (...) {
    error = std::current_exception();
  }
  task->body_ = nullptr;  // lets go of the tensors
  lock.lock();
  running_ = false;
  task->error_ = error;
  task->done_ = true;
  changed_.notify_all();
}

}  // namespace sheaf::comm
