#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "sheaf/optim/slot.h"

namespace sheaf::optim {

/// Makes the parameters of a model that is whole here something to step, without any ranks:
///
///   AdamW optim(plain_slots(model->named_parameters().pairs()), {.learning_rate = 3e-4});
///
/// Every parameter is a segment. Its gradient is grad(); one without sits out, and after a step all
/// are undefined again. fp16 and bf16 parameters are stepped in an fp32 copy that is made here, so
/// load their values before. A tensor that is listed twice is stepped once, under its first name.
/// Throws UsageError for a name that is listed twice and for tensors that cannot be stepped: not
/// contiguous, or not floating point.
[[nodiscard]] Slots plain_slots(std::vector<std::pair<std::string, at::Tensor>> named_parameters);

}  // namespace sheaf::optim
