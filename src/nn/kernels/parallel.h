#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace sheaf::nn {

/// Elements, rows or other pieces from `begin` up to but not including `end`.
struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Pieces {
  std::int64_t count = 0;
  /// Pieces that are worth a thread of their own.
  std::int64_t grain = 1;
};

/// Calls `body` with parts that cover all pieces, on as many threads as LibTorch's operators use,
/// and returns when they are done. Inside a parallel region there is one part. What a part throws
/// is thrown on the caller's thread.
void in_parallel(const Pieces& pieces, c10::function_ref<void(Part)> body);

/// Calls `body` once on each of these threads, for what belongs to a thread; it may not throw.
/// Inside a parallel region, and where LibTorch brings another kind of OpenMP, it is called on the
/// caller's thread only.
void on_each_thread(c10::function_ref<void()> body);

}  // namespace sheaf::nn
