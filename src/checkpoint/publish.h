#pragma once

#include <string>
#include <vector>

#include "checkpoint/part_writer.h"

namespace sheaf::checkpoint {

/// Adds what is missing to a folder whose tensors are on disk, from all ranks' pieces: other files
/// and the manifest. Checks it, moves it to its place, and points `latest` to it. Power may go at
/// any time: the folder is in its place whole or not at all. Throws IoError, Error.
void publish(const std::string& folder,
             const Contents& contents,
             const FolderPlan& plan,
             const std::vector<std::vector<WrittenPiece>>& pieces,
             Disk& disk);

}  // namespace sheaf::checkpoint
