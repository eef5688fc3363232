#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sheaf::launch {

/// Tells the launcher how far this rank is, so that its log can name the last step of a rank that
/// dies, and a run that does not get on is not restarted for ever. Costs one store into memory
/// that both share. Does nothing in a process that `sheaf launch` or `--ranks` has not started.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Steps that are done; after a restart those of the checkpoint count.
  void report(std::int64_t step);

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  std::atomic<std::int64_t>* own_ = nullptr;
};

}  // namespace sheaf::launch
