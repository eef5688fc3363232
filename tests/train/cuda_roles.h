#pragma once

#include "gpu/roles.h"

namespace sheaf::testing {

/// The trainer, with evaluation and a text at the end, takes the steps of one rank: every stage, in
/// every precision.
void trainer_role(const RoleContext& context);

/// From the batch to the optimizer, the host gives the GPU a step of the trainer without waiting.
void step_role(const RoleContext& context);

}  // namespace sheaf::testing
