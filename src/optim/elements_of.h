#pragma once

#include "kernels/elements.h"
#include "sheaf/optim/optimizer.h"

namespace sheaf::optim {

/// Returns what a tensor holds; none for types that are not stepped.
[[nodiscard]] Type type_of(const at::Tensor& tensor);

/// Returns the memory of a run.
[[nodiscard]] Elements elements_of(const Run& run);

}  // namespace sheaf::optim
