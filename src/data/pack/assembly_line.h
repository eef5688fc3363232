#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace sheaf::data {

/// Work in three stages on several threads: items are taken one after another, worked on at the
/// same time, and handed on in the order in which they were taken. Each thread holds one item, so
/// that memory does not grow with what there is to do.
template <class Item, class Result>
class AssemblyLine {
 public:
  struct Stages {
    /// Returns false when there is nothing more; never called by two threads at once.
    std::function<bool(Item&)> take;
    std::function<Result(Item)> work;
    /// Never called by two threads at once.
    std::function<void(Result)> hand_on;
  };

  explicit AssemblyLine(Stages stages) : stages_(std::move(stages)) {}

  /// What each of the threads runs. The first exception ends the others' work too.
  void run_thread() {
    try {
      Item item;
      while (const auto number = take(item)) hand_on(*number, stages_.work(std::move(item)));
    } catch (...) {
      const std::lock_guard lock(order_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
      turn_came_.notify_all();
    }
  }

  /// Rethrows what ended the work too early. To be called when no thread runs any more.
  void check() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::optional<std::uint64_t> take(Item& item) {
    const std::lock_guard lock(taking_);
    // Not under order_, which is held while results are handed on.
    if (failed_) return std::nullopt;
    item = Item();
    return stages_.take(item) ? std::optional(taken_++) : std::nullopt;
  }

  void hand_on(std::uint64_t number, Result result) {
    std::unique_lock lock(order_);
    turn_came_.wait(lock, [&] { return error_ || turn_ == number; });
    if (error_) return;
    stages_.hand_on(std::move(result));
    ++turn_;
    turn_came_.notify_all();
  }

  Stages stages_;
  std::mutex taking_;
  std::uint64_t taken_ = 0;
  std::mutex order_;
  std::condition_variable turn_came_;
  std::uint64_t turn_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;
};

}  // namespace sheaf::data
