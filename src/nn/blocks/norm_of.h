#pragma once

#include <torch/csrc/autograd/variable.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "nn/kernels/norm_rows.h"
#include "sheaf/nn/blocks.h"

namespace sheaf::nn {

/// Throws UsageError, in the name of `layer`, unless the norm fits the rows of `x`.
void check_norm(std::string_view layer, const at::Tensor& x, const NormParameters& norm);

/// For the backward of a torch::autograd::Function whose arguments number `weight` and `bias` are
/// the norm's parameters: puts their gradients where they belong, or else into `results`; `later`
/// may be left to write them. Returns that of x.
[[nodiscard]] at::Tensor norm_gradients(const NormBackward& in,
                                        std::size_t weight,
                                        std::optional<std::size_t> bias,
                                        torch::autograd::variable_list& results,
                                        PendingSums& later);

}  // namespace sheaf::nn
