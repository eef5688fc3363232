#pragma once

#include <memory>

#include "assembly.h"
#include "checkpoint/disk.h"
#include "sheaf/train/checkpointer.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Saves and restores a run as the section `checkpoint` says; null where it names no folder.
/// Options and parts must outlive it. Checkpoints are written to `disk`, or to the real one where
/// it is null. Every rank must call it.
[[nodiscard]] std::shared_ptr<Checkpointer> make_checkpointer(
    const RunOptions& options,
    const Assembly& parts,
    std::shared_ptr<checkpoint::Disk> disk = nullptr);

}  // namespace sheaf::train
