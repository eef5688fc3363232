#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "sheaf/data/loader.h"

namespace sheaf::data {

/// Makes batches 0, 1, 2 and so on ahead, on threads of its own, each batch by one of them; hands
/// them out in order.
class Prefetcher {
 public:
  using Make = std::function<Batch(std::int64_t number)>;

  /// At most `ahead` batches are made or being made and not yet taken. Throws IoError if the system
  /// has no more threads.
  Prefetcher(Make make, int workers, int ahead);
  /// Waits for the batches that are being made, and drops them.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Waits for the next batch. Rethrows what making it threw, and again at each later call.
  [[nodiscard]] Batch take();
  /// Returns the next batch if it is there; what making it threw is left to take().
  [[nodiscard]] std::optional<Batch> take_if_ready();

 private:
  using Result = std::variant<Batch, std::exception_ptr>;

  void work();
  [[nodiscard]] Result result_of(std::int64_t number) const;
  [[nodiscard]] std::optional<Result>& slot_of(std::int64_t number);
  [[nodiscard]] Batch hand_out(std::optional<Result>& slot);
  void stop();

  Make make_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable ready_;
  std::vector<std::optional<Result>> slots_;
  std::int64_t started_ = 0;
  std::int64_t taken_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sheaf::data
