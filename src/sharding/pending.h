#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>

#include "sheaf/base/recorder.h"
#include "sheaf/comm/work.h"

namespace sheaf::sharding {

/// An exchange that runs beside the computation. On CUDA nothing else keeps its memory: where
/// nobody has waited for it (a prefetched unit that was not used, a pass that failed), the
/// computation does when this is destroyed, so that the memory is not used again too early.
class Pending {
 public:
  Pending() = default;
  /// Without an event the work alone says when it is done.
  explicit Pending(comm::Work work) : work_(std::move(work)) {}
  /// `recorded`: it is part of a CUDA graph; see never_ran().
  Pending(comm::Work work, std::shared_ptr<c10::Event> done, Recorder recorder, bool recorded);
  ~Pending();
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;

  /// Makes the result available to what this thread computes next: the CPU blocks, a CUDA stream
  /// waits. May be called again.
  void wait();
  [[nodiscard]] bool done() const;

 private:
  void block_stream();
  [[nodiscard]] c10::Stream current_stream() const;
  [[nodiscard]] bool never_ran() const;

  comm::Work work_;
  std::shared_ptr<c10::Event> done_;
  /// Is told how long the computation's stream waits; there where there is an event.
  std::optional<Recorder> recorder_;
  bool is_recorded_ = false;
  bool waited_ = false;
};

/// Where exchanges are issued: on CUDA a stream of high priority of its own, ordered with the
/// computation by events (so memory needs no record_stream); on the CPU the group's own thread.
class ExchangeStream {
 public:
  ExchangeStream(at::Device device, Recorder recorder);

  /// Calls `start` so that what it issues comes after all that was issued so far by the computation
  /// and by earlier exchanges.
  Pending issue(const std::function<comm::Work()>& start) const;

 private:
  std::optional<c10::Stream> stream_;
  Recorder recorder_;
};

}  // namespace sheaf::sharding
