#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sheaf/checkpoint/reader.h"
#include "sheaf/comm/group.h"

namespace sheaf::checkpoint {

/// Loads the newest checkpoint of a folder that is whole, and returns its step; nothing where there
/// are none. `load` takes what its rank needs; what it finds damaged (Damaged) or cannot read
/// (IoError), on any rank, sends all ranks to the checkpoint before, with a warning. Then these
/// are renamed, so that newer ones can take their place, and `latest` leads to what was loaded. One
/// of an unknown version is passed over, too, but keeps its name. Whatever else `load` throws on
/// any rank, all throw; a `load` that exchanges data does so before it throws. Throws Error if
/// there are checkpoints and none can be loaded, and touches none of them then. All ranks must call
/// it, and rank 0's view of the folder counts.
[[nodiscard]] std::optional<std::int64_t> restore_newest(
    const std::string& folder,
    const comm::Group& group,
    const std::function<void(const Reader&)>& load);

}  // namespace sheaf::checkpoint
