#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cuda_graph.h"
#include "sheaf/base/recorder.h"
#include "sheaf/comm/group.h"
#include "sheaf/comm/traffic.h"
#include "sheaf/data/loader.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/train/phase_clock.h"

namespace sheaf::train {

/// What a step computes from, and what it leaves on the device.
struct StepInputs {
  data::Batch batch;
  /// Targets that count, of all ranks, and what else TrainStep counts.
  at::Tensor counts;
};

struct StepOutputs {
  at::Tensor loss_sum;
  /// Undefined where it is not measured.
  at::Tensor gradient_norm;
};

/// Where the work of a step is recorded: told of each phase that has ended.
using PhaseMark = std::function<void(Phase)>;

struct StepGraphOptions {
  at::Device device;
  /// All ranks that train together.
  comm::Group group;
  std::shared_ptr<optim::Optimizer> optimizer;
  /// Samples of a full step, all ranks together; others are not recorded.
  std::int64_t global_batch = 1;
};

/// A whole step - forward and backward of all passes, exchange, clipping, update - as a CUDA graph.
/// docs/step_graph.md says what that means for a run.
///
/// Note [Recorded and replayed]: the first steps run as always, so that everything is there that
/// lasts: optimizer states, communicators, plans of libraries. Then the step is recorded, which
/// runs nothing but all of the host's part: calls of groups are noted and counted then. Replays
/// repeat the device's part; what the host has to know of each step is done around them.
///
/// There are two recordings, which take turns: the moments that one stamps can still be read while
/// the device is at the other. Their memory is the same.
class StepGraph {
 public:
  explicit StepGraph(StepGraphOptions options);

  /// Gives the device's part of a whole step to the current stream, the update through `recorded`.
  using Body = std::function<StepOutputs(
      const StepInputs& inputs, optim::RecordedStep& recorded, const PhaseMark& mark)>;
  /// Called where a recording failed, before the step runs as always.
  using Cleanup = std::function<void()>;

  /// Returns whether replay() can take this step: it has its inputs then. Records it first when it
  /// is time to. All ranks get the same answer.
  [[nodiscard]] bool prepare(const StepInputs& inputs, const Body& body, const Cleanup& cleanup);

  /// Takes the step that was prepared; does not wait for it. What it returns is overwritten by the
  /// next replay.
  const StepOutputs& replay(double learning_rate_factor, PhaseClock& clock);

 private:
  struct Mark {
    Phase phase;
    std::shared_ptr<const Stamp> stamp;
  };
  struct Take {
    /// Memory that the recorded kernels read from; of the batch only its tensors and sizes count.
    StepInputs inputs;
    StepOutputs outputs;
    optim::RecordedStep update;
    std::vector<Mark> marks;
    /// What a replay adds to the group's counters and to what the recorder hears.
    comm::Traffic traffic;
    std::vector<DeviceSpan> spans;
    std::int64_t num_replays = 0;
    std::unique_ptr<CudaGraph> graph;
  };

  void record(Take& take, const StepInputs& inputs, const Body& body, const Cleanup& cleanup);
  void capture(Take& take, const Body& body);
  [[nodiscard]] bool all_recorded(bool here) const;
  [[nodiscard]] Take& next() { return takes_[turn_]; }
  [[nodiscard]] Take& other() { return takes_[1 - turn_]; }

  StepGraphOptions options_;
  Recorder recorder_;
  int steps_before_ = 0;
  bool has_given_up_ = false;
  std::array<Take, 2> takes_;
  std::size_t turn_ = 0;
};

}  // namespace sheaf::train
