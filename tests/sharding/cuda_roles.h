#pragma once

#include "gpu/roles.h"

namespace sheaf::testing {

/// Every strategy takes the steps of one rank on the CPU, in fp64, with accumulation and clipping.
void parity_role(const RoleContext& context);
/// Tied, frozen, unused and deferred parameters, in every stage.
void trials_role(const RoleContext& context);
/// Parameters that are stepped within backward get the bits of those stepped after it.
void in_backward_role(const RoleContext& context);
/// In fp32, tf32, bf16 and fp16 every stage learns as one rank does in the same precision.
void mixed_precision_role(const RoleContext& context);
/// 2,000 steps take no more memory than a hundred, and no more than the ledger says.
void long_run_role(const RoleContext& context);
/// A step never makes the host wait for the GPU.
void no_waiting_role(const RoleContext& context);

}  // namespace sheaf::testing
