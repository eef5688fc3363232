#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

namespace sheaf::optim {

/// Note [Recorded steps]: a CUDA graph holds kernels with the arguments they were recorded with,
/// but learning rates and bias corrections change from step to step. So the kernels of a recorded
/// step read these from device memory, which the optimizer writes before each replay. Nothing runs,
/// and nothing counts, while a step is recorded.
struct RecordedStep {
  struct Place {
    std::size_t segment = 0;
    std::size_t slot = 0;
  };

  /// A row for each run, fp64; on the parameters' device.
  at::Tensor numbers;
  /// The first slot of each run, which stands for all of them.
  std::vector<Place> runs;
  /// Every slot that takes part.
  std::vector<Place> slots;
};

}  // namespace sheaf::optim
