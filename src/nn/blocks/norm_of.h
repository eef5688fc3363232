#pragma once

#include <string_view>

#include "nn/kernels/norm_rows.h"
#include "sheaf/nn/blocks.h"

namespace sheaf::nn {

/// Throws UsageError, in the name of `layer`, unless the norm fits the rows of `x`.
void check_norm(std::string_view layer, const at::Tensor& x, const NormParameters& norm);

}  // namespace sheaf::nn
