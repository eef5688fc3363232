#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::comm::one_gpu {

/// Words that a stream writes and waits for, in this order, without a kernel: the GPU does other
/// work, also that of other processes, while the stream waits.
class Marks {
 public:
  Marks() = default;

  /// Everything queued before is done, and visible to all, before the word is written.
  void write(std::uint64_t word, std::uint32_t value) { marks_.push_back({word, value, true}); }
  /// Waits until the word has reached `value`.
  void wait(std::uint64_t word, std::uint32_t value) { marks_.push_back({word, value, false}); }
  /// Queues all of them on `stream` (a cudaStream_t). Throws CommError.
  void issue(void* stream) const;

 private:
  struct Mark {
    std::uint64_t word;
    std::uint32_t value;
    bool is_write;
  };
  std::vector<Mark> marks_;
};

/// Throws CommError unless this driver's streams can wait for words.
void check_marks();

}  // namespace sheaf::comm::one_gpu
