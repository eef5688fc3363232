#pragma once

#include "sheaf/train/options.h"

namespace sheaf::study {

/// Returns the run that `sheaf bench` and `sheaf sweep` take where no other is named: a small GPT
/// on the embedded text. No sizes, so that another preset brings all of its own.
[[nodiscard]] inline train::RunOptions quick_run() {
  train::RunOptions run;
  run.model.preset = "gpt2-tiny";
  run.optimizer.learning_rate = 2e-3;
  run.batch.global = 32;
  return run;
}

}  // namespace sheaf::study
