#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sheaf/module/gradient_sink.h"

namespace sheaf::sharding {

/// A stream for gradients of parameters while a step is recorded as a CUDA graph.
///
/// Note [Gradients beside backward]: what goes from layer to layer in backward is a chain in which
/// each kernel waits for the one before, and many of them do not fill a GPU. Gradients of weights
/// hang off that chain, and are needed when it is over. So they go to a stream of their own, which
/// follows the chain event by event, and fill what it leaves idle. What they read must stay: it is
/// kept here until the chain has waited for them, at most kMostHeld bytes besides the newest. The
/// chain is joined with them at the end of the pass; exchanges of gradients wait for them
/// themselves.
///
/// Only in recordings: there starts cost nothing, and all streams of a graph are its own.
class SideStream final : public module::Beside {
 public:
  SideStream(at::Device device, bool is_wanted) : device_(device), is_wanted_(is_wanted) {}

  /// Returns itself where work can be left to it now, or null.
  [[nodiscard]] module::Beside* if_recording();
  void run(const std::function<void()>& work, std::vector<at::Tensor> reads) override;

  /// Lets the current stream wait for all work so far.
  void precede_current() const;
  /// The same for the stream that the work came from, after which nothing is under way.
  void join();
  /// Joins as far as that is possible, after an error.
  void abandon() noexcept;

 private:
  struct Held {
    c10::Event done;
    std::vector<at::Tensor> reads;
    std::size_t bytes = 0;
  };

  void let_go_oldest();

  at::Device device_;
  bool is_wanted_;
  /// Made when it is needed.
  std::optional<c10::Stream> stream_;
  /// Work under way, oldest first, in the order of the stream.
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace sheaf::sharding
