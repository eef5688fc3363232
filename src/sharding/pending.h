#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>

#include "sheaf/comm/work.h"

namespace sheaf::sharding {

/// An exchange that runs beside the computation. On CUDA nothing else keeps its memory: where
/// nobody has waited for it (a prefetched unit that was not used, a pass that failed), the
/// computation does when this is destroyed, so that the memory is not used again too early.
class Pending {
 public:
  Pending() = default;
  Pending(comm::Work work, std::shared_ptr<c10::Event> done);
  ~Pending();
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;

  /// Makes the result available to what this thread computes next: the CPU blocks, a CUDA stream
  /// waits. May be called again.
  void wait();
  [[nodiscard]] bool done() const;

 private:
  void block_stream() const;

  comm::Work work_;
  std::shared_ptr<c10::Event> done_;
  bool waited_ = false;
};

/// Where exchanges are issued: on CUDA a stream of high priority of its own, ordered with the
/// computation by events (so memory needs no record_stream); on the CPU the group's own thread.
class ExchangeStream {
 public:
  explicit ExchangeStream(at::Device device);

  /// Calls `start` so that what it issues comes after all that was issued so far by the computation
  /// and by earlier exchanges.
  Pending issue(const std::function<comm::Work()>& start) const;

 private:
  std::optional<c10::Stream> stream_;
};

}  // namespace sheaf::sharding
