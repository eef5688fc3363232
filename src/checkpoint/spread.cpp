#include "checkpoint/spread.h"

#include <atomic>
#include <exception>
#include <future>
#include <vector>

namespace sheaf::checkpoint {

void spread(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (int i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, run));
  std::exception_ptr error;
  const auto keep_first = [&](const auto& end) {
    try {
      end();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  keep_first(run);
  for (auto& other : others) keep_first([&] { other.get(); });
  if (error) std::rethrow_exception(error);
}

}  // namespace sheaf::checkpoint
