#pragma once

#include <ATen/cuda/CUDAEvent.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "../backend.h"
#include "blocks.h"
#include "watch.h"
#include "words.h"

namespace sheaf::comm::one_gpu {

/// The slots through which ranks show each other data, and how their streams meet.
///
/// Note [Streams in turn]: in a turn a rank's stream fills its slot, arrives, which means that it
/// tells the peers and waits for all of them, and reads the peers' slots. There are two slots, used
/// in turn, so nothing has to wait before a slot is filled again: who has arrived at turn t + 1 has
/// read all of turn t, and a slot of turn t is filled again in turn t + 2. No host waits for
/// another, and no kernel spins.
class Turns {
 public:
  Turns(Backend& host,
        const Members& members,
        at::Device device,
        std::shared_ptr<Words> words,
        Watch& watch);
  /// Waits until no peer reads this rank's slots any more, and this rank no peer's.
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Begins a call on the current stream, behind all calls before. `bytes` is what a slot should
  /// hold at best; the same on all ranks. Throws CommError if the group has ended.
  void begin(Kind kind, std::int64_t bytes);
  /// Ends the call.
  void end();

  /// Queues the arrival at the next turn.
  void arrive();
  /// Goes on to the other slot.
  void swap_slots() { odd_ = !odd_; }
  [[nodiscard]] std::byte* slot(int rank) const;
  [[nodiscard]] std::size_t slot_bytes() const { return blocks_->bytes() / 2; }
  /// Returns the call's stream, a cudaStream_t.
  [[nodiscard]] void* stream() const { return stream_; }
  [[nodiscard]] int rank() const { return members_.rank; }
  [[nodiscard]] int size() const { return members_.size(); }

 private:
  void grow(std::size_t slot_bytes);
  void wait_until_unused();

  Backend& host_;
  Members members_;
  at::Device device_;
  std::shared_ptr<Words> words_;
  Watch& watch_;
  std::optional<Blocks> blocks_;
  bool odd_ = false;
  std::uint32_t num_turns_ = 0;
  std::uint32_t num_calls_ = 0;
  Kind kind_ = Kind::barrier;
  void* stream_ = nullptr;
  at::cuda::CUDAEvent last_;
};

}  // namespace sheaf::comm::one_gpu
