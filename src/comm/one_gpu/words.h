#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../shared/futex.h"
#include "../shared/segment.h"

namespace sheaf::comm::one_gpu {

/// What a word counts. It is written for rank `to` by the stream of rank `from`, and only grows (it
/// may wrap).
enum class Topic {
  /// Turns that `from` has come to.
  arrived,
  /// Calls that `from` is done with: nothing of them reads the memory of `to` any more.
  finished,
  /// Cells of messages that `from` has filled for `to`.
  sent,
  /// Cells of messages from `to` that `from` has emptied.
  received
};

/// Counters in host memory that all ranks and their streams see. In host memory because each rank
/// can then tell who is missing, and let its own stream go on when nobody will come any more.
class Words {
 public:
  /// `segment` is seen by all ranks. Throws CommError when CUDA cannot reach it.
  Words(std::shared_ptr<shared::Segment> segment, int num_ranks);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  [[nodiscard]] static std::size_t bytes(int num_ranks);

  [[nodiscard]] shared::FutexWord& operator()(Topic topic, int to, int from) const;
  /// Returns the word's address for streams.
  [[nodiscard]] std::uint64_t on_device(Topic topic, int to, int from) const;
  /// Who has left the group, its number plus one; 0 while nobody has.
  [[nodiscard]] shared::FutexWord& left() const;

 private:
  [[nodiscard]] std::size_t place(Topic topic, int to, int from) const;

  std::shared_ptr<shared::Segment> segment_;
  int num_ranks_;
  std::byte* on_device_ = nullptr;
};

/// Tells whether a count that may have wrapped is at least `other`.
[[nodiscard]] inline bool reached(std::uint32_t count, std::uint32_t other) {
  return static_cast<std::int32_t>(count - other) >= 0;
}

}  // namespace sheaf::comm::one_gpu
