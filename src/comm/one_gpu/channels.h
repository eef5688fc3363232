#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../backend.h"
#include "blocks.h"
#include "watch.h"
#include "words.h"

namespace sheaf::comm::one_gpu {

/// Messages between two ranks: the sender's stream fills cells of its block, the receiver's empties
/// them. A message that fits into the cells of a channel is on its way when send() is; a longer one
/// waits, in the stream, for its receiver.
class Channels {
 public:
  Channels(Backend& host,
           const Members& members,
           at::Device device,
           std::shared_ptr<Words> words,
           Watch& watch);
  /// Waits until the peers have emptied this rank's cells, and this rank theirs.
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  /// Queue a message on the current stream. Messages to or from one peer come one at a time.
  void send(const at::Tensor& tensor, int to);
  void recv(const at::Tensor& tensor, int from);

 private:
  /// One direction of one pair of ranks.
  struct Channel {
    /// Cells filled or emptied so far.
    std::uint32_t count = 0;
    at::cuda::CUDAEvent last;
  };

  [[nodiscard]] std::byte* cell(int from, int to, std::uint32_t number) const;

  Members members_;
  at::Device device_;
  std::shared_ptr<Words> words_;
  Watch& watch_;
  Blocks blocks_;
  std::vector<Channel> to_;
  std::vector<Channel> from_;
};

}  // namespace sheaf::comm::one_gpu
