#pragma once

#include <c10/util/Exception.h>

#include <vector>

#include "sheaf/memory/limit.h"
#include "sheaf/plan/ways_out.h"
#include "sheaf/train/options.h"
#include "sheaf/train/run_out_of_memory.h"

namespace sheaf::train {

/// Returns changes with which a run fits into a limit, which its other options allow.
[[nodiscard]] std::vector<plan::WayOut> ways_out(const RunOptions& options, int ranks, Bytes limit);

/// Returns the error that ends a run: who held most, and what to do about it.
[[nodiscard]] RunOutOfMemory out_of_memory(const memory::OutOfMemory& error,
                                           const RunOptions& options,
                                           int ranks);
/// The same for a GPU, whose allocator does not know who holds what.
[[nodiscard]] RunOutOfMemory out_of_memory(const c10::OutOfMemoryError& error,
                                           const RunOptions& options,
                                           int ranks);

}  // namespace sheaf::train
