#pragma once

#include <ATen/core/grad_mode.h>

#include <string>

#include "sheaf/base/error.h"

namespace sheaf::nn {

/// For backward: throws UsageError if it is to be differentiated itself.
inline void refuse_second_derivative(const std::string& layer) {
  if (!at::GradMode::is_enabled()) return;
  throw UsageError(layer + " has no second derivative: do without create_graph");
}

}  // namespace sheaf::nn
