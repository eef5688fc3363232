#pragma once

#include "gpu/roles.h"

namespace sheaf::testing {

/// Trains GPT-2 with the weights, texts and settings of the file `start` in --folder, in
/// --precision, and writes the loss of every step to `losses` there: one side of
/// tests/interop/loss_curves.py.
void loss_curve_role(const RoleContext& context);

}  // namespace sheaf::testing
