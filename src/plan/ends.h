#pragma once

#include "plan/pass.h"

// What models do before their first block and after their last.

namespace sheaf::plan {

/// Returns what goes into the first block.
[[nodiscard]] Held embed(const Pass& pass);

/// What the loss keeps for backward: its gradients, which forward has made already.
struct LossSaved {
  Held x;
  Held statistics;
  Held of_hidden;
  Held of_weight;
};
/// The last norm and the loss, whose logits are there chunk by chunk.
[[nodiscard]] LossSaved loss_forward(const Pass& pass, Held x);

struct LossGradients {
  /// Of what the last block gave.
  Held x;
  /// Of an embedding that is the head, too: it waits for its other half.
  Held tokens;
};
[[nodiscard]] LossGradients loss_backward(const Pass& pass, LossSaved saved);

void embed_backward(const Pass& pass, Held gradient, Held of_tokens);

}  // namespace sheaf::plan
