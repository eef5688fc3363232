#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/comm/group.h"

namespace sheaf {

/// What a batch normalisation has: the tensors of torch::nn::BatchNorm1d, 2d and 3d.
struct BatchNormTensors {
  /// Undefined where the layer is not affine.
  at::Tensor weight;
  at::Tensor bias;
  /// Updated when training; undefined where the layer does not track them.
  at::Tensor running_mean;
  at::Tensor running_var;
};

struct BatchNormOptions {
  bool training = true;
  double momentum = 0.1;
  double epsilon = 1e-5;
};

/// Normalises each channel (dim 1) over the batches of all ranks of the group, as one rank would
/// over all of them; in backward too. Ranks may have batches of different sizes. For use in the
/// forward of a module that holds the tensors. One exchange forward, one backward; all ranks of the
/// group must call it. Without training it is the plain normalisation.
[[nodiscard]] at::Tensor sync_batch_norm(const at::Tensor& input,
                                         const BatchNormTensors& tensors,
                                         const comm::Group& group,
                                         const BatchNormOptions& options = {});

}  // namespace sheaf
