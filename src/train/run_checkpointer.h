#pragma once

#include <memory>

#include "assembly.h"
#include "sheaf/train/checkpointer.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Saves and restores a run as the section `checkpoint` says; null where it names no folder. Both
/// arguments must outlive it. Every rank must call it.
[[nodiscard]] std::shared_ptr<Checkpointer> make_checkpointer(const RunOptions& options,
                                                              const Assembly& parts);

}  // namespace sheaf::train
