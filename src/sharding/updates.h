#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pending.h"

namespace sheaf::sharding {

/// Steps of units that are under way, and new parameters that travel.
///
/// Note [Steps beside backward]: a unit that is complete is not needed any more by the pass, so its
/// step can run beside what is left of it, on a GPU on a stream of its own, behind everything else
/// that is ready. That stream follows the computation up to here and waits for the exchange, if the
/// computation has not done so; what the computation does next neither reads nor writes the unit's
/// memory. Before gradients' memory is given back, and before the model is used again, the two are
/// joined.
class Updates {
 public:
  explicit Updates(at::Device device) : device_(device) {}

  /// Calls `step`, so that what it gives to a GPU runs beside what the computation gives it next.
  void run_beside(const std::function<void()>& step);
  /// New parameters of a segment are on their way.
  void add(Pending refresh) { refreshing_.push_back(std::move(refresh)); }

  /// Lets the current stream go on when all steps are done; the host does not wait.
  void join();
  /// The same, and waits until new parameters have arrived, as Pending::wait() does.
  void finish();

 private:
  void note_steps();

  at::Device device_;
  /// Made when it is needed.
  std::optional<c10::Stream> stream_;
  /// The last of the steps on it, until they are joined, and whether they are part of a CUDA graph.
  std::unique_ptr<c10::Event> stepped_;
  bool is_recorded_ = false;
  std::vector<Pending> refreshing_;
};

}  // namespace sheaf::sharding
