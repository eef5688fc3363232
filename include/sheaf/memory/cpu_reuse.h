#pragma once

namespace sheaf::memory {

/// Keeps the memory of large CPU tensors that are freed for those that are made next, as caching
/// allocators do for GPUs: a training step makes and frees the same activations over and over, and
/// fresh memory costs a page fault and a cleared page for every 4 KiB. Never keeps so much that
/// the process holds more than it did at its peak. Large blocks ask for huge pages.
///
/// Call it first thing in main(), before other threads start; launch::run_main() does. Counts what
/// CPU tensors take, too: see cpu_usage.h. A second call does nothing.
void reuse_cpu_memory();

}  // namespace sheaf::memory
