#include "parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "torch_symbol.h"

// LibTorch's operators run on the threads of the OpenMP library that it brings. A second pool
// beside it, which this compiler's own OpenMP would be, fights with the first for the cores:
// threads of both spin for a while after their work. So the loops here ask that library itself for
// its threads.

namespace sheaf::nn {
namespace {

constexpr std::int64_t kPartsPerThread = 16;

using RunRegion = void (*)(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);

/// Returns null where LibTorch brings another kind of OpenMP.
RunRegion run_region() {
  static const auto kFound = reinterpret_cast<RunRegion>(find_torch_symbol("GOMP_parallel"));
  return kFound;
}

class Region {
 public:
  Region(const Pieces& pieces, std::int64_t num_parts, c10::function_ref<void(Part)> body)
      : count_(pieces.count), share_((pieces.count + num_parts - 1) / num_parts), body_(body) {}

  /// Takes parts until none is left; each thread of the region calls it.
  void work() noexcept {
    for (;;) {
      const std::int64_t begin = next_.fetch_add(share_);
      if (begin >= count_) return;
      try {
        body_({begin, std::min(begin + share_, count_)});
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::int64_t count_;
  std::int64_t share_;
  c10::function_ref<void(Part)> body_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void in_parallel(const Pieces& pieces, c10::function_ref<void(Part)> body) {
  if (pieces.count <= 0) return;
  const std::int64_t worthwhile = pieces.count / std::max<std::int64_t>(pieces.grain, 1);
  const std::int64_t num_threads = std::min<std::int64_t>(worthwhile, at::get_num_threads());
  if (num_threads <= 1 || at::in_parallel_region() || run_region() == nullptr) {
    return body({0, pieces.count});
  }
  // More parts than threads: one that loses its core for a moment leaves the rest to the others.
  Region region(pieces, std::min(worthwhile, kPartsPerThread * num_threads), body);
  const auto work = [](void* data) { static_cast<Region*>(data)->work(); };
  run_region()(work, &region, static_cast<unsigned>(num_threads), 0);
  region.rethrow();
}

void on_each_thread(c10::function_ref<void()> body) {
  const int num_threads = at::get_num_threads();
  if (num_threads <= 1 || at::in_parallel_region() || run_region() == nullptr) return body();
  const auto call = [](void* data) { (*static_cast<c10::function_ref<void()>*>(data))(); };
  run_region()(call, &body, static_cast<unsigned>(num_threads), 0);
}

}  // namespace sheaf::nn
